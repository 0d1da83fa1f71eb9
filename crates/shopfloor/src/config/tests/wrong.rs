//! Wrong files and what is said about them, as whole texts: this is what a user reads.

use super::*;

#[track_caller]
fn check(text: &str, expect: &str) {
    let error = load_text(text).expect_err("this must be refused");
    assert_eq!(error.to_string(), expect.trim_start_matches('\n'), "of:\n{text}");
}

/// Checks one section added to an otherwise good file; the section begins in line 5.
#[track_caller]
fn check_section(section: &str, expect: &str) {
    check(&format!("{MINIMAL}{section}"), expect);
}

#[track_caller]
fn check_floor(text: &str, expect: &str) {
    let error = load::floor_from(Path::new("floor.toml"), text).expect_err("this must be refused");
    assert_eq!(error.to_string(), expect.trim_start_matches('\n'), "of:\n{text}");
}

#[test]
fn unknown_keys_name_the_nearest() {
    check(
        "[project]\nname = \"harb\"\n[[ci.steps]]\nname = \"test\"\nrun = \"make\"\n  tiemout = \"10m\"\n",
        r#"
shopfloor.toml:6:3: unknown key `tiemout` in [[ci.steps]]
  6 | tiemout = "10m"
    | ^^^^^^^
  hint: did you mean `timeout`? valid keys here: name, run, timeout"#,
    );
    check(
        "[project]\nname = \"harb\"\n[ci]\nsteps = [\n  { name = \"test\", cmd = \"make\" },\n]\n",
        r#"
shopfloor.toml:5:20: unknown key `cmd` in [[ci.steps]]
  5 | { name = "test", cmd = "make" },
    |                  ^^^
  hint: valid keys here: name, run, timeout"#,
    );
    check_section(
        "[agents.reviewer]\nruntime = \"demo\"\n",
        r#"
shopfloor.toml:5:9: `reviewer` in [agents] is nearly the name of another role
  5 | [agents.reviewer]
    |         ^^^^^^^^
  hint: did you mean `review`? valid names that work is given to here: dev, review, gardener, supervisor, predictor, planner, action, default"#,
    );
    check_section(
        "[agents.Night-Shift]\nruntime = \"demo\"\n",
        r#"
shopfloor.toml:5:9: `Night-Shift` cannot be the name of a role
  5 | [agents.Night-Shift]
    |         ^^^^^^^^^^^
  hint: use 1 to 16 of a-z, 0-9 and '_', beginning with a letter, and not `default`, `hand` or `issue`"#,
    );
    check_section(
        "[agents.default]\nmodel = \"big\"\n",
        r#"
shopfloor.toml:5:9: missing key `runtime` in [agents.default]
  5 | [agents.default]
    |         ^^^^^^^"#,
    );
    check_section(
        "[limit]\nmax_jobs = 2\n",
        r#"
shopfloor.toml:5:2: unknown key `limit` at the top level
  5 | [limit]
    |  ^^^^^
  hint: did you mean `limits`? valid keys here: project, forge, ci, agents, roles, review, groom, merge, limits, health, sessions, worktree, rescue, secrets, steps, verify, schedules"#,
    );
    check_floor(
        "[sessions]\nphase_dri = \"/tmp\"\n",
        r#"
floor.toml:2:1: unknown key `phase_dri` in [sessions]
  2 | phase_dri = "/tmp"
    | ^^^^^^^^^
  hint: did you mean `phase_dir`? valid keys here: phase_dir"#,
    );
}

#[test]
fn missing_keys_are_named() {
    check(
        "[ci]\nno_checks = true\n",
        r#"
shopfloor.toml: missing table [project]
  hint: begin the file with [project] and a line name = "…""#,
    );
    check(
        "[project]\nprimary_branch = \"main\"\n",
        r#"
shopfloor.toml:1:1: missing key `name` in [project]
  1 | [project]
    | ^^^^^^^^^"#,
    );
    check(
        "[project]\nname = \"harb\"\n[ci]\nsteps = [{ name = \"test\" }]\n",
        r#"
shopfloor.toml:4:10: missing key `run` in [[ci.steps]]
  4 | steps = [{ name = "test" }]
    |          ^^^^^^^^^^^^^^^^^"#,
    );
}

#[test]
fn wrong_types_are_said_in_tomls_words() {
    let check = |section: &str, line: usize, column: usize, expect: &str| {
        let error = load_text(&format!("{MINIMAL}{section}")).expect_err(section);
        assert_eq!(error.message, expect, "{section}");
        let place = error.place.unwrap();
        assert_eq!((place.line, place.column), (line, column), "{section}");
    };
    let u32s = "expected a whole number from 0 to 4294967295";
    check(
        "[limits]\nmax_jobs = \"2\"",
        6,
        12,
        "`max_jobs` in [limits]: expected a whole number, found a string",
    );
    check(
        "[limits]\nmax_jobs = 1.5",
        6,
        12,
        "`max_jobs` in [limits]: expected a whole number, found a number with a fraction",
    );
    check("[limits]\nmax_jobs = -1", 6, 12, &format!("`max_jobs` in [limits]: -1 is out of range: {u32s}"));
    check(
        "[limits]\nci_fixes = 4294967296",
        6,
        12,
        &format!("`ci_fixes` in [limits]: 4294967296 is out of range: {u32s}"),
    );
    check(
        "[review]\nrequired = \"yes\"",
        6,
        12,
        "`required` in [review]: expected true or false, found a string",
    );
    check(
        "[review]\ntimeout = 10",
        6,
        11,
        "`timeout` in [review]: expected a duration in quotes, such as \"30s\", \"10m\" or \"1h30m\", found a whole number",
    );
    check(
        "[review]\ntimeout = \"10 minuets\"",
        6,
        11,
        "\"10 minuets\" is not a duration: write 30s, 10m, 3h or 1h30m",
    );
    check("[agents]\ndev = \"demo\"", 6, 7, "`dev` in [agents]: expected a table, found a string");
    check(
        "[agents.dev]\nruntime = true",
        6,
        1,
        "`runtime` in [agents.dev]: expected a string, found a boolean",
    );
    check(
        "[agents.dev]\nruntime = \"generic\"\ncommand = \"bot\"",
        7,
        11,
        "`command` in [agents.dev]: expected an array, found a string",
    );
    check(
        "[agents.dev]\nruntime = \"generic\"\ncommand = [\"bot\", 1]",
        7,
        19,
        "in `agents.dev.command`: expected a string, found a whole number",
    );
    check(
        "[limits]\nmax_jobs = 99999999999999999999",
        6,
        12,
        &format!("`max_jobs` in [limits]: 99999999999999999999 is out of range: {u32s}"),
    );
    check("[merge]\nmethod = { a = 1 }", 6, 1, "`method` in [merge]: expected a string, found a table");
    check("[[limits]]\n", 5, 3, "`limits`: expected a table, found an array");
    check("[agents]\ndev = [\"demo\"]\n", 6, 1, "`dev` in [agents]: expected a table, found an array");
    check(
        "[limits]\nidle = []\n",
        6,
        8,
        "`idle` in [limits]: expected a duration in quotes, such as \"30s\", \"10m\" or \"1h30m\", found an array",
    );
    check(
        "[agents.dev]\nruntime = 2026-01-01",
        6,
        1,
        "`runtime` in [agents.dev]: expected a string, found a date",
    );
}

#[test]
fn values_that_are_not_known_name_those_that_are() {
    check_section(
        "[merge]\nmethod = \"rebsae\"\n",
        r#"
shopfloor.toml:6:10: `method` in [merge]: unknown value "rebsae"
  6 | method = "rebsae"
    |          ^^^^^^^^
  hint: did you mean `rebase`? valid values here: rebase, merge, squash"#,
    );
    check_section(
        "[forge]\nkind = \"github\"\n",
        r#"
shopfloor.toml:6:8: `kind` in [forge]: unknown value "github"
  6 | kind = "github"
    |        ^^^^^^^^
  hint: valid values here: local"#,
    );
    check(
        "[project]\nname = \"My App\"\n",
        r#"
shopfloor.toml:2:8: project name "My App" is not valid: use 1 to 40 of a-z, 0-9, '-' and '_', beginning with a letter or digit
  2 | name = "My App"
    |        ^^^^^^^^"#,
    );
}

#[test]
fn checks_are_listed_or_declined() {
    let hint = "hint: add steps = [{ name = \"test\", run = \"…\" }] to [ci]; or, to let changes land unchecked, no_checks = true";
    let message = "the project has no checks, and does not say that it wants none";
    check("[project]\nname = \"harb\"\n", &format!("shopfloor.toml: {message}\n  {hint}"));
    check(
        "[project]\nname = \"harb\"\n[ci]\nsteps = []\n",
        &format!("shopfloor.toml:3:2: {message}\n  3 | [ci]\n    |  ^^\n  {hint}"),
    );
    check(
        "[project]\nname = \"harb\"\n[ci]\nno_checks = true\nsteps = [{ name = \"t\", run = \"make\" }]\n",
        r#"
shopfloor.toml:4:1: `no_checks` says that there are no checks, but `steps` lists some
  4 | no_checks = true
    | ^^^^^^^^^
  hint: remove one of the two"#,
    );
}

#[test]
fn agents_are_checked() {
    check_section(
        "[agents.dev]\nruntime = \"claude\"\npermission_mode = \"do; it\"\n",
        r#"
shopfloor.toml:7:1: `permission_mode` in [agents.dev] is one word, such as "acceptEdits"
  7 | permission_mode = "do; it"
    | ^^^^^^^^^^^^^^^"#,
    );
    check_section(
        "[agents.dev]\nruntime = \"demo\"\npermission_mode = \"plan\"\n",
        r#"
shopfloor.toml:7:1: `permission_mode` in [agents.dev] is for claude and codex only
  7 | permission_mode = "plan"
    | ^^^^^^^^^^^^^^^"#,
    );
    check_section(
        "[agents.dev]\nruntime = \"generic\"\n",
        r#"
shopfloor.toml:6:1: runtime "generic" needs a `command` in [agents.dev]
  6 | runtime = "generic"
    | ^^^^^^^
  hint: add command = ["program", "argument"]: what is run in the worktree"#,
    );
    check_section(
        "[agents.dev]\nruntime = \"generic\"\ncommand = [\"bot\"]\n",
        r#"
shopfloor.toml:5:2: review is required, but nothing says who reviews
  5 | [agents.dev]
    |  ^^^^^^
  hint: add [agents.review] with a runtime, or set `required = false` in [review]"#,
    );
    check_floor(
        "[defaults.agents.dev]\nruntime = \"demo\"\ncommand = [\"bot\"]\n",
        r#"
floor.toml:3:1: runtime "demo" runs no command of yours
  3 | command = ["bot"]
    | ^^^^^^^
  hint: remove the line, or write runtime = "generic" to run the command"#,
    );
}

#[test]
fn values_that_nothing_could_work_with_are_refused_at_their_key() {
    let check = |section: &str, expect: &str| {
        let error = load_text(&format!("{MINIMAL}{section}")).expect_err(section);
        assert_eq!(error.message, expect, "{section}");
        assert!(error.place.is_some_and(|place| place.line > 5), "{section}");
    };
    check("[limits]\nmax_jobs = 0", "`max_jobs` in [limits] is 0: it must be from 1 to 1000");
    check("[merge]\nslots = 65", "`slots` in [merge] is 65: it must be from 1 to 64");
    check("[merge]\non_landed = []", "`on_landed` in [merge] names no program");
    let relative = "`on_not_landed` in [merge] names a program by a part of its path";
    check("[merge]\non_not_landed = [\"./tell.sh\"]", relative);
    check("[merge]\ncommand_timeout = \"0s\"", "`command_timeout` must be longer than nothing");
    check("[review]\nrounds = 0", "`rounds` in [review] is 0: it must be from 1 to 1000");
    check("[limits]\nidle = \"0s\"", "`idle` must be longer than nothing");
    check("[agents.dev]\nruntime = \"generic\"\ncommand = []", "`command` in [agents.dev] names no program");
    check("[agents.dev]\nruntime = \"demo\"\nmodel = \"\"", "`model` in [agents.dev] is empty");
    check("[agents.dev]\nruntime = \"demo\"\npass_env = [\"A=1\"]", "\"A=1\" is not the name of a variable");
    assert!(load_text(&format!("{MINIMAL}[limits]\nrespawn_backoff = \"0s\"")).is_ok());

    let check_ci = |ci: &str, expect: &str| {
        let error = load_text(&format!("[project]\nname = \"a\"\n[ci]\n{ci}")).expect_err(ci);
        assert_eq!(error.message, expect, "{ci}");
        assert_eq!(error.place.unwrap().line, 4);
    };
    check_ci("steps = [{ name = \"a\", run = \" \" }]", "the step \"a\" runs nothing");
    check_ci("steps = [{ name = \"\", run = \"x\" }]", "a step's name is one line of 1 to 80 characters");
    check_ci(
        "steps = [{ name = \"a\", run = \"x\" }, { name = \"a\", run = \"y\" }]",
        "two steps are named \"a\"",
    );
    check_ci(
        "steps = [{ name = \"a\", run = \"x\", timeout = \"0s\" }]",
        "`timeout` must be longer than nothing",
    );
    check_ci(
        "log_max = 10\nno_checks = true",
        "`log_max` in [ci] is 10: it must be from 1024 to 1073741824 bytes",
    );

    check_ci(
        "skip_paths = [\"/docs\"]\nno_checks = true",
        "`skip_paths` in [ci] has a pattern that cannot be used: \"/docs\": it must be relative: it is looked for in the worktree",
    );
    check_ci(
        "min_time = \"30m\"\nno_checks = true",
        "`min_time` in [ci] is 30m, and `timeout` is 30m: nothing could ever pass",
    );
    check_ci(
        "infra = [\"x\"]\nno_checks = true",
        "a text in `infra` of [ci] is too short: it would be found everywhere",
    );

    for bad in
        ["", "a b", "-x", "a..b", "a/", "/a", "a.lock", "HEAD", "refs/heads/main", "fix/issue-3", "a~1", ".a"]
    {
        let error =
            load_text(&format!("[project]\nname = \"a\"\nprimary_branch = \"{bad}\"\n")).expect_err(bad);
        assert!(error.message.contains("cannot be the name of a branch"), "{error}");
    }
    check_floor(
        "[sessions]\nphase_dir = \"tmp\"\n",
        r#"
floor.toml:2:1: `phase_dir` in [sessions] must be an absolute path
  2 | phase_dir = "tmp"
    | ^^^^^^^^^
  hint: agents find their phase file under it whatever folder they are in, for example "/tmp""#,
    );
    check_floor(
        "[retention]\njournal = \"6d\"\n",
        r#"
floor.toml:2:1: `journal` in [retention] is 144h: it must be at least 7d
  2 | journal = "6d"
    | ^^^^^^^
  hint: "never" keeps all of it"#,
    );
}

#[test]
fn a_literal_secret_is_refused_and_not_repeated() {
    check_section(
        "[secrets]\nTOKEN = \"hunter22\"\n",
        r#"
shopfloor.toml:6:1: `TOKEN` in [secrets]: expected a reference, found a string
  6 | TOKEN = …
    | ^^^^^
  hint: this file is committed and read by agents, so it says only where a secret is found: { env = "VAR" } or { file = "path" }; replace the secret if it was ever committed"#,
    );
    let wrong = [
        "[secrets]\nTOKEN = { env = \"$hunter22\" }",
        "[secrets]\nTOKEN = { value = \"hunter22\" }",
        "[secrets]\nTOKEN = { env = \"A\", file = \"hunter22\" }",
        "[secrets]\nTOKEN = { file = \"~/hunter22\" }",
        "[secrets]\nTOKEN = {}",
        "[secrets]\nTOKEN = hunter22",
        "[secrets]\nTOKEN = \"hunter22",
        "[secrets]\nTOKEN \"hunter22\"",
        "[secrets.TOKEN]\nvalue = \"hunter22\"",
        "[secrets.TOKEN]\nfile = [\"hunter22\"]",
        "[secrets]\n\"a b\" = \"hunter22\"",
    ];
    for section in wrong {
        let error = load_text(&format!("{MINIMAL}{section}\n")).expect_err(section);
        assert!(!format!("{error} {error:?}").contains("hunter22"), "{error}");
        assert!(error.place.is_some(), "{error}");
    }
    for text in
        ["secrets = \"hunter22\"\n", "secrets = { TOKEN = \"hunter22\" }\n", "secrets.TOKEN = \"hunter22\"\n"]
    {
        let error = load_text(&format!("{text}{MINIMAL}")).expect_err(text);
        assert!(!format!("{error} {error:?}").contains("hunter22"), "{error}");
    }
}

#[test]
fn text_that_is_not_toml_is_shown_where_it_breaks() {
    check(
        "[project]\nname = harb\n",
        r#"
shopfloor.toml:2:8: string values must be quoted, expected literal string
  2 | name = harb
    |        ^^^^"#,
    );
    check(
        "[project]\nname = \"harb\"\nname = \"other\"\n",
        r#"
shopfloor.toml:3:1: duplicate key
  3 | name = "other"
    | ^^^^"#,
    );
    // Columns are characters, tabs stay tabs, long lines are cut, escapes do not reach a terminal.
    let shown = |text: &str| load_text(text).unwrap_err().to_string();
    assert_eq!(
        shown("\tx = \"ä\" ä\n").lines().next(),
        Some("shopfloor.toml:1:10: unexpected key or value, expected newline, `#`")
    );
    let long =
        format!("[project]\nname = \"harb\"\nprimary_branch = {{ a = \"{}\", b = ? }}\n", "x".repeat(5000));
    assert!(shown(&long).len() < 500, "{}", shown(&long));
    assert!(shown(&format!("{} = 1\n", "k".repeat(100_000))).len() < 1000);
    assert!(!shown("[project]\nname = \"\\u001b[31m\x1b\"\n").contains('\x1b'));
    assert!(!shown("[project]\nname = \"\\u001b[31m\"\n").contains('\x1b'));
}

#[test]
fn files_that_cannot_be_read_are_said_to_be() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("shopfloor.toml");
    let load = || load::project(&file, &FloorConfig::default());
    let shown = || load().unwrap_err().to_string().replace(folder.path().to_str().unwrap(), "DIR");
    assert_eq!(
        shown(),
        "DIR/shopfloor.toml: there is no such file\n  hint: run `shopfloor init` in the repository to make one"
    );
    assert_eq!(load::floor(&folder.path().join("floor.toml")), Ok(FloorConfig::default()));

    std::fs::write(&file, format!("\u{feff}{}", MINIMAL.replace('\n', "\r\n"))).unwrap();
    assert_eq!(load().unwrap(), load_text(MINIMAL).unwrap());

    std::fs::write(&file, b"[project]\nname = \"h\xe4rb\"\n").unwrap();
    assert_eq!(
        shown(),
        "DIR/shopfloor.toml:2:10: not UTF-8 text from here on\n  2 | name = \"h\n    |          ^\n  hint: save the file as UTF-8 in your editor"
    );

    std::fs::write(&file, "#".repeat(1024 * 1024 + 1)).unwrap();
    assert_eq!(shown(), "DIR/shopfloor.toml: is larger than 1 MiB; that is not a configuration");

    std::fs::remove_file(&file).unwrap();
    std::fs::create_dir(&file).unwrap();
    assert_eq!(shown(), "DIR/shopfloor.toml: is not a file");
}

/// Whatever is mistyped: there is an answer, and it never holds a secret.
#[test]
fn no_single_slip_panics_or_shows_a_secret() {
    let text = format!("{FULL}OOPS = \"hunter22\"\n[secrets.MORE]\nvalue = 'hunter22'\n");
    for (at, c) in text.char_indices() {
        let (before, after) = (&text[..at], &text[at + c.len_utf8()..]);
        let mut slips = vec![before.to_owned(), format!("{before}{after}")];
        slips.extend(
            ["`", "\"", "[", "]", "=", "\n", "ä", "-"].map(|slip| format!("{before}{slip}{}", &text[at..])),
        );
        for slip in slips {
            if let Err(error) = load_text(&slip) {
                assert!(!format!("{error} {error:?}").contains("hunter22"), "{error}\n{slip}");
            }
        }
    }
}

#[test]
fn steps_and_verifiers_are_checked_where_they_stand() {
    check_section(
        "[steps.create]\ncommand = [\"bot\", \"{stroy}\"]\n",
        r#"
shopfloor.toml:6:1: {stroy} is not a placeholder
  6 | command = ["bot", "{stroy}"]
    | ^^^^^^^
  hint: did you mean `story`? valid placeholders here: story, step, extra, state_file, prompt"#,
    );
    check_section(
        "[steps.create]\ncommand = [\"bot\"]\nprompt = \"do {story}\"\n",
        r#"
shopfloor.toml:7:1: the command does not use the `prompt`
  7 | prompt = "do {story}"
    | ^^^^^^
  hint: add "{prompt}" to `command`"#,
    );
    check_section(
        "[steps]\ncreate = []\n",
        r#"
shopfloor.toml:6:1: `create` in [steps]: expected a table, found an array
  6 | create = []
    | ^^^^^^
  hint: write [steps.create]"#,
    );
    check_section(
        "[verify.create]\nchecks = [{ files = \"../{key}\" }]\n",
        r#"
shopfloor.toml:6:13: the pattern "../{key}" cannot be used: `..` is no name
  6 | checks = [{ files = "../{key}" }]
    |             ^^^^^"#,
    );
    check_section(
        "[verify.create]\nchecks = [{ files = \"a\", run = [\"b\"] }]\n",
        r#"
shopfloor.toml:6:11: a check has exactly one of `files`, `run`, `git` and `json`
  6 | checks = [{ files = "a", run = ["b"] }]
    |           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: write for example { files = "docs/{key}-*.md" } or { run = ["make", "check"] }"#,
    );
    check_section(
        "[verify.create]\nchecks = [{ git = \"clean\", min = 2 }]\n",
        r#"
shopfloor.toml:6:28: `min` says nothing about this `git` check
  6 | checks = [{ git = "clean", min = 2 }]
    |                            ^^^
  hint: remove the line"#,
    );
    check_section(
        "[verify.create]\nchecks = []\n",
        r#"
shopfloor.toml:6:1: [verify.create] has no checks
  6 | checks = []
    | ^^^^^^
  hint: what verifies nothing would verify everything; add a check or remove the table"#,
    );
}

#[test]
fn a_worktrees_setup_says_what_it_means() {
    check_section(
        "[worktree]\nports = \"21999-21000\"\n",
        r#"
shopfloor.toml:6:9: "21999-21000" is not a range of ports: write "21000-21999", from 1024 up to 65535
  6 | ports = "21999-21000"
    |         ^^^^^^^^^^^^^"#,
    );
    check_section(
        "[worktree]\nsetup = [\"make\", \" \"]\n",
        r#"
shopfloor.toml:6:18: `setup` in [worktree] has a command that runs nothing
  6 | setup = ["make", " "]
    |                  ^^^"#,
    );
    check_section(
        "[worktree]\ninclude = [\"a\\nb\"]\n",
        r#"
shopfloor.toml:6:12: `include` in [worktree] has a pattern that names nothing
  6 | include = ["a\nb"]
    |            ^^^^^^
  hint: write patterns as in a .gitignore, such as ".env" or "config/*.local""#,
    );
}

#[test]
fn targets_and_keys_are_checked() {
    let target = |line: &str| format!("[merge.targets.one]\n{line}\n");
    for (section, why) in [
        (target("branch = \"main\""), "has a queue already"),
        (target("branch = \"a..b\""), "a..b"),
        (target("branch = \"rel\"\nlabel = \" \""), "a label is not empty"),
        ("[merge.targets.\"No Name\"]\nbranch = \"rel\"\n".to_owned(), "cannot be the name of a target"),
        (
            format!("{}[merge.targets.two]\nbranch = \"rel\"\n", target("branch = \"rel\"")),
            "has a queue already",
        ),
        ("[merge.signing]\nformat = \"ssh\"\nkey = \"~/.ssh/id\"\n".to_owned(), "not a key that can be used"),
        ("[merge.signing]\nformat = \"x509\"\nkey = \"a\"\n".to_owned(), "x509"),
    ] {
        let error = load_text(&format!("{MINIMAL}{section}")).expect_err("this must be refused").to_string();
        assert!(error.contains(why), "of {section}: {error}");
    }
}

#[test]
fn reviews_of_peoples_changes_need_somebody_who_reviews() {
    check_section(
        "[agents.dev]\nruntime = \"generic\"\ncommand = [\"x\"]\n[review]\nrequired = false\npeople = \"always\"\n",
        r#"
shopfloor.toml:10:1: `people` in [review] is "always", but no agent reviews
  10 | people = "always"
     | ^^^^^^
  hint: add [agents.review] with a runtime, or set `people = "never"` in [review]"#,
    );
}

#[test]
fn what_a_role_may_is_in_words_that_there_are() {
    check_section(
        "[roles.dev]\nmay = [\"issue.comment\", \"issue.crate\"]\n",
        r#"
shopfloor.toml:6:25: in `roles.dev.may`: unknown value "issue.crate"
  6 | may = ["issue.comment", "issue.crate"]
    |                         ^^^^^^^^^^^^^
  hint: did you mean `issue.create`? valid values here: issue.create, issue.comment, issue.label, issue.close, issue.edit, vault.request, question.ask"#,
    );
    check_section(
        "[roles.dev]\nmaximum = 5\n",
        r#"
shopfloor.toml:6:1: unknown key `maximum` in [roles.dev]
  6 | maximum = 5
    | ^^^^^^^
  hint: valid keys here: may, labels, always, closes, lands, max_issues, max_changes"#,
    );
    check_section(
        "[roles.reviewer]\nmay = []\n",
        r#"
shopfloor.toml:5:8: `reviewer` in [roles] is nearly the name of another role
  5 | [roles.reviewer]
    |        ^^^^^^^^
  hint: did you mean `review`? valid names that work is given to here: dev, review, gardener, supervisor, predictor, planner, action, default"#,
    );
    check_section(
        "[roles.dev]\nmax_issues = 1001\n",
        r#"
shopfloor.toml:6:1: `max_issues` in [roles.dev] is 1001: it must be from 0 to 1000
  6 | max_issues = 1001
    | ^^^^^^^^^^"#,
    );
    check_section(
        "[roles]\ndev = \"all\"\n",
        r#"
shopfloor.toml:6:1: `dev` in [roles]: expected a table
  6 | dev = "all"
    | ^^^"#,
    );
}

#[test]
fn labels_of_a_role_are_what_they_look_like() {
    check_section(
        "[roles.dev]\nlabels = [\"vision\", \"Backlog\"]\n",
        r#"
shopfloor.toml:6:21: the label "Backlog" differs from "backlog" only in capitals
  6 | labels = ["vision", "Backlog"]
    |                     ^^^^^^^^^
  hint: did you mean "backlog"? That one steers the factory"#,
    );
    for label in ["", " vision", "a,b", "back\\u200blog", "a\\nb"] {
        let error = load_text(&format!("{MINIMAL}[roles.dev]\nlabels = [\"{label}\"]\n")).unwrap_err();
        assert!(error.to_string().contains("cannot be one"), "{label}: {error}");
    }
}

#[test]
fn the_vaults_types_are_checked() {
    let declared = |lines: &str| {
        format!("[vault.types.deploy]\nrun = [\"deploy\"]\nrisk = \"low\"\nreversible = true\n{lines}")
    };
    check_floor(
        &declared("schema = { type = \"object\", patern = \"^a\" }\n"),
        r#"
floor.toml:5:29: unknown key `patern` in [vault.types.deploy.schema]
  5 | schema = { type = "object", patern = "^a" }
    |                             ^^^^^^
  hint: valid keys here: title, description, type, enum, properties, required, additionalProperties, items, minItems, maxItems, minLength, maxLength, minimum, maximum"#,
    );
    let run = |argument: &str| declared("").replace("[\"deploy\"]", &format!("[\"deploy\", \"{argument}\"]"));
    let optional = "schema = { type = \"object\", properties = { version = { type = \"string\" } } }\n";
    for (text, why) in [
        (declared("").replace("risk = \"low\"\n", ""), "missing key `risk` in [vault.types.deploy]"),
        (declared("").replace("\"low\"", "\"tiny\""), "unknown value \"tiny\""),
        (declared("").replace("[\"deploy\"]", "[]"), "names no program"),
        (declared("").replace("\"deploy\"", "\"bin/deploy\""), "by a part of its path"),
        (declared("").replace("\"deploy\"", "\"{payload.program}\""), "takes the program from the payload"),
        (
            declared("").replace("[\"deploy\"]", "[\"env\", \"{payload.x}\"]"),
            "takes the program from the payload",
        ),
        (
            declared("").replace("[\"deploy\"]", "[\"sh\", \"-c\", \"{payload.v}\"]"),
            "has an interpreter run what a payload says",
        ),
        (run("--v={payload.version}"), "only a whole argument"),
        (run("{payload.version}"), "no payload has to have that"),
        (format!("{}{optional}", run("{payload.version}")), "no payload has to have that"),
        (declared("schema = []\n"), "a schema: expected a table, found an array"),
        (declared("schema = { properties = { a = [] } }\n"), "a schema: expected a table, found an array"),
        (declared("secrets = [\"$TOKEN\"]\n"), "is not the name of a variable"),
        (declared("timeout = \"0s\"\n"), "`timeout` must be longer than nothing"),
        (declared("cwd = \"work\"\n"), "must be an absolute path"),
        (declared("secrets = [\"T\"]\n[grants.web]\npass_env = [\"T\"]\n"), "is a secret of the vault"),
        ("[vault]\ntypes = { deploy = [] }\n".to_owned(), "expected a table, found an array"),
        ("[vault.types.\"Do it\"]\nrun = [\"x\"]\n".to_owned(), "type \"Do it\" is not valid"),
    ] {
        let error = load::floor_from(Path::new("floor.toml"), &text).expect_err(&text).to_string();
        assert!(error.contains(why), "of {text}: {error}");
        assert!(error.starts_with("floor.toml:"), "it has a place: {error}");
    }
    let good = format!(
        "{}schema = {{ type = \"object\", required = [\"version\"], properties = {{ version = {{ enum = [\"1\", \"2\"] }} }} }}\n",
        run("{payload.version}")
    );
    let floor = load::floor_from(Path::new("floor.toml"), &good).expect("good");
    let spec = floor.vault_spec(&"deploy".parse().expect("a name")).expect("declared");
    assert!(spec.schema.is_some() && !spec.idempotent);
    assert_eq!(load::floor_from(Path::new("floor.toml"), &show::as_toml(&floor)).expect("again"), floor);
}
