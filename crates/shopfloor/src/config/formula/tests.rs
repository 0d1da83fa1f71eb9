//! Formulas that are right, those that are wrong and what is said about them, and what is made of them.

use super::*;
use shopfloor_core::recipe::Recipe;

const STEP: &str = "[[steps]]\nid = \"do\"\ndescription = \"do it\"\n";

fn parse(text: &str) -> Result<Formula, ConfigError> {
    Formula::parse(Path::new("tidy.toml"), text.as_bytes())
}

#[track_caller]
fn wrong(text: &str, expect: &str) {
    let error = parse(text).expect_err("this must be refused");
    assert_eq!(error.to_string(), expect.trim_start_matches('\n'), "of:\n{text}");
}

fn filled(text: &str, vars: &[(&str, &str)]) -> Result<Recipe, String> {
    let formula = parse(text).unwrap_or_else(|e| panic!("{e}"));
    let given = vars.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let place = Place { project: "harb", primary_branch: "main" };
    fill(&"tidy".parse().expect("a name"), &formula, &given, &place)
}

#[test]
fn every_formula_that_is_built_in_is_right() {
    let library = Library::new(&BTreeMap::new());
    for (name, found) in library.iter() {
        assert!(found.file.is_none());
        assert!(found.formula.is_ok(), "{name}: {:?}", found.formula.as_ref().err());
    }
}

#[test]
fn a_projects_own_formula_comes_before_a_built_in_one() {
    let files = [("task", STEP), ("own", STEP), ("Bad Name", STEP)];
    let files = files.map(|(name, text)| (format!("{FORMULAS}/{name}.toml"), text.to_owned()));
    let elsewhere = (format!("{FORMULAS}/deeper/own2.toml"), STEP.to_owned());
    let library = Library::new(&files.into_iter().chain([elsewhere]).collect());
    let own = library.iter().filter(|(_, found)| found.file.is_some());
    assert_eq!(own.map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["own", "task"]);
    for (name, found) in library.iter() {
        assert!(found.formula.is_ok(), "{name}: {:?}", found.formula.as_ref().err());
    }
}

#[test]
fn what_is_wrong_is_said_with_line_and_column() {
    wrong(
        "descripton = \"x\"\n[[steps]]\nid = \"do\"\ndescription = \"d\"\n",
        r#"
tidy.toml:1:1: unknown key `descripton` at the top level
  1 | descripton = "x"
    | ^^^^^^^^^^
  hint: did you mean `description`? valid keys here: name, description, version, role, model, timeout, vars, context, limits, steps"#,
    );
    wrong(
        "[[steps]]\nid = \"a\"\nneeds = [\"b\"]\ntitle = \"A\"\n[[steps]]\nid = \"b\"\nneeds = [\"a\"]\ntitle = \"B\"\n",
        r#"
tidy.toml:3:1: steps wait for one another: a -> b -> a
  3 | needs = ["b"]
    | ^^^^^
  hint: take one of these needs out"#,
    );
    wrong(
        "[[steps]]\nid = \"look\"\ntitle = \"L\"\n[[steps]]\nid = \"b\"\nneeds = [\"loook\"]\ntitle = \"B\"\n",
        r#"
tidy.toml:6:1: step `b` needs `loook`, which is no step
  6 | needs = ["loook"]
    | ^^^^^
  hint: did you mean `look`? valid steps here: look, b"#,
    );
    wrong(
        "[vars.area]\n[[steps]]\nid = \"do\"\ndescription = \"\"\"\nLook at this:\n  {{ aera }} and more\n\"\"\"\n",
        r#"
tidy.toml:6:6: there is no variable `aera`
  6 | {{ aera }} and more
    |    ^^^^
  hint: did you mean `area`? valid variables here: area, project, primary_branch"#,
    );
    wrong(
        "[[steps]]\nid = \"do\"\ndescription = \"{% if %}\"\n",
        r#"
tidy.toml:3:22: syntax error: unexpected end of block
  3 | description = "{% if %}"
    |                      ^^
"#
        .trim_end(),
    );
    wrong(
        "name = \"other\"\n[[steps]]\nid = \"do\"\ntitle = \"d\"\n",
        r#"
tidy.toml:1:1: it is called `other`, and its file `tidy`
  1 | name = "other"
    | ^^^^
  hint: a formula is found by the name of its file: make them the same, or leave `name` out"#,
    );
}

#[test]
fn what_could_never_be_filled_in_is_said_before_it_is_run() {
    wrong(
        "[vars.x]\n[[steps]]\nid = \"do\"\ntitle = \"Do {{ x|nosuch }}\"\n",
        r#"
tidy.toml:4:18: unknown filter: filter nosuch is unknown
  4 | title = "Do {{ x|nosuch }}"
    |                  ^^^^^^"#,
    );
    wrong(
        "[vars.full]\ntype = \"boolean\"\ndefault = false\n[[steps]]\nid = \"do\"\nwhen = \"{{ full }}\"\ntitle = \"t\"\n",
        r#"
tidy.toml:6:9: a condition has no braces around it
  6 | when = "{{ full }}"
    |         ^^
  hint: write it without them: when = "full""#,
    );
    let said = |var: &str, text: &str| {
        parse(&format!("[vars.x]\n{var}\n[[steps]]\nid = \"do\"\ntitle = \"{text}\"\n"))
            .map_err(|e| e.message)
    };
    for var in ["", "required = true", "default = \"d\""] {
        let why = said(var, "{{ x.foo.bar }}").expect_err("refused");
        assert!(why.contains("undefined"), "{why}");
        assert!(said(var, "{{ x is nosuch }}").is_err() && said(var, "{{ nosuch() }}").is_err());
    }
    // What a value that is given may make right is not wrong.
    for good in ["{{ (x|split(','))[2] }}", "{{ x|int + 1 }}", "{{ x|upper }}"] {
        assert_eq!(said("required = true", good).err(), None, "{good}");
    }
}

#[test]
fn what_a_project_lacks_is_said_with_line_and_column() {
    let text = "role = \"gardner\"\n[[steps]]\nid = \"do\"\ntitle = \"t\"\nverify = \"tets\"\n";
    let formula = parse(text).expect("right by itself");
    let config = "[project]\nname = \"a\"\n[ci]\nno_checks = true\n[agents.gardener]\nruntime = \"demo\"\n[verify.tests]\nchecks = [{ run = [\"true\"] }]\n";
    let floor = crate::config::FloorConfig::default();
    let config = load::project_from(Path::new("shopfloor.toml"), config, &floor).expect("good");
    let said = formula.lacking(Path::new("tidy.toml"), text.as_bytes(), &config);
    let said: Vec<String> = said.iter().map(ToString::to_string).collect();
    assert!(said[0].starts_with("tidy.toml:1:8: there is no [agents.gardner]"), "{said:?}");
    assert!(said[0].contains("did you mean `gardener`?"), "{said:?}");
    assert!(said[1].starts_with("tidy.toml:5:10: there is no [verify.tets]"), "{said:?}");
    assert!(said[1].contains("did you mean `tests`?"), "{said:?}");
}

#[test]
fn nothing_that_is_filled_in_is_code_or_a_program() {
    let argv = |argv: &str| parse(&format!("[vars.x]\n[[steps]]\nid = \"do\"\nrun = {argv}\n"));
    let said = |text: &str| argv(text).expect_err("refused").message;
    let code = "a variable would become a part of what an interpreter runs";
    for bad in [
        r#"["sh", "-c", "echo {{ x }}"]"#,
        r#"["/bin/bash", "-lc", "echo {{ x }}"]"#,
        r#"["env", "A=1", "python3.11", "-c", "print({{ x }})"]"#,
        r#"["perl", "-e{{ x }}"]"#,
        r#"["node", "--eval", "{{ x }}"]"#,
        r#"["nice", "sh", "-ec", "{% if x %}a{% endif %}"]"#,
        r#"["bash", "-c", "--", "echo {{ x }}"]"#,
        r#"["bash", "-co", "pipefail", "echo {{ x }}"]"#,
        r#"["env", "-S", "sh -c {{ x }}"]"#,
    ] {
        assert_eq!(said(bad), code, "{bad}");
    }
    assert_eq!(said(r#"["{{ x }}", "-c"]"#), "which program is run cannot be filled in");
    assert_eq!(said(r#"["env", "A=1", "{{ x }}"]"#), "which program is run cannot be filled in");
    assert_eq!(said("[]"), "the command is empty");
    for good in [r#"["sh", "-c", "echo \"$1\"", "sh", "{{ x }}"]"#, r#"["grep", "-e", "{{ x }}"]"#] {
        assert!(argv(good).is_ok(), "{good}: {:?}", argv(good).err());
    }
}

#[test]
fn a_value_is_one_argument_and_no_option() {
    let text =
        "[vars.x]\n[[steps]]\nid = \"do\"\nrun = [\"git\", \"log\", \"{{ x }}\", \"--since={{ x }}\"]\n";
    let recipe = filled(text, &[("x", "a b; rm -rf \"$HOME\"")]).expect("filled in");
    let argv = recipe.steps[0].run.clone().expect("a command");
    assert_eq!(argv, ["git", "log", "a b; rm -rf \"$HOME\"", "--since=a b; rm -rf \"$HOME\""]);
    let why = filled(text, &[("x", "--output=/etc/passwd")]).expect_err("refused");
    assert!(why.contains("would be taken for an option"), "{why}");
    // Values are not filled in again, and have nothing that hides.
    let recipe = filled(text, &[("x", "{{ project }}\u{200b}\u{1b}[2J")]).expect("filled in");
    assert_eq!(recipe.vars["x"], "{{ project }}");
    assert_eq!(recipe.steps[0].run.as_ref().expect("a command")[2], "{{ project }}");
}

#[test]
fn variables_have_types_defaults_and_have_to_be_there() {
    let text = "
[vars.area]
required = true
[vars.count]
type = \"integer\"
default = 3
[vars.full]
type = \"boolean\"
default = false
[[steps]]
id = \"quick\"
title = \"Look at {{ area }}\"
description = \"{% if count > 2 %}many{% else %}few{% endif %} in {{ project }}\"
[[steps]]
id = \"full\"
needs = [\"quick\"]
when = \"full and area != ''\"
description = \"all\"
";
    let recipe = filled(text, &[("area", "docs")]).expect("filled in");
    assert_eq!(recipe.steps[0].title, "Look at docs");
    assert_eq!(recipe.steps[0].description, "many in harb");
    assert!(recipe.steps[1].skipped);
    assert_eq!(recipe.vars["count"], "3");
    let recipe = filled(text, &[("area", "docs"), ("full", "true"), ("count", "1")]).expect("filled in");
    assert_eq!((recipe.steps[0].description.as_str(), recipe.steps[1].skipped), ("few in harb", false));

    let no = |vars: &[(&str, &str)]| filled(text, vars).expect_err("refused");
    assert_eq!(no(&[]), "the variable `area` is required");
    assert_eq!(no(&[("area", " ")]), "the variable `area` is required, and empty");
    assert_eq!(no(&[("area", "a"), ("count", "two")]), "the variable `count` is a whole number, not \"two\"");
    let unknown = no(&[("area", "a"), ("cuont", "1")]);
    assert!(unknown.contains("did you mean `count`?"), "{unknown}");

    let var = |text: &str| parse(&format!("{text}\n{STEP}")).expect_err("refused").message;
    assert!(var("[vars.x]\ntype = \"integer\"").contains("has no value if a run is given none"));
    assert!(var("[vars.x]\ntype = \"boolean\"\ndefault = 1").contains("is not true or false"));
    assert!(var("[vars.x]\ndefault = [1]").contains("expected a string, a whole number or a boolean"));
    assert!(var("[vars]\nx = 1").contains("expected a table"));
    assert!(var("[vars.project]").contains("has a meaning in every formula"));
    assert!(var("[vars.X]").contains("cannot be the name of a variable"));
    assert!(var("version = 1.5").contains("expected a whole number or a string"));
}

#[test]
fn a_template_comes_to_an_end_and_does_not_grow() {
    let endless = format!(
        "description = \"{{% for a in range(9999) %}}{{% for b in range(9999) %}}x{{% endfor %}}{{% endfor %}}\"\n{STEP}"
    );
    assert_eq!(
        filled(&endless, &[]).expect_err("refused"),
        "the description cannot be filled in: it does not come to an end"
    );
    let growing =
        format!("description = \"{{% for a in range(4000) %}}{{{{ x }}}}{{% endfor %}}\"\n[vars.x]\n{STEP}");
    let why = filled(&growing, &[("x", &"x".repeat(100))]).expect_err("refused");
    assert!(why.contains("it gets longer than 65536 bytes"), "{why}");
}

#[test]
fn steps_say_what_they_are() {
    let step = |text: &str| parse(&format!("[[steps]]\nid = \"do\"\n{text}\n")).expect_err("refused").message;
    assert!(step("").contains("neither what is to be done nor what is to be run"));
    assert!(step("title = \"t\"\ntimeout = \"1m\"").contains("only a command has a `timeout`"));
    assert!(step("run = [\"true\"]\nverify = \"x\"").contains("says by its exit code"));
    assert!(parse("role = \"review\"\n[[steps]]\nid = \"do\"\ntitle = \"t\"\n").is_err());
    assert_eq!(parse("steps = []").expect_err("refused").message, "it has no steps");
}
