//! The agent clients that tests run: pinned versions from the npm registry, fetched once into a cache
//! folder outside of the project. What they are is in a lockfile (`xtask/clients`) with a digest of each package,
//! and without a word of where it comes from: any registry will do that has the same.
//!
//! Invariants:
//! - A folder in the cache is complete: it is filled under another name, checked, and renamed.
//! - A client is started with an empty environment and a home of its own.
//! - What does not have the digest that the lockfile says is not installed.
//! - Packages run no scripts of theirs when they are installed.

use crate::sh::{self, Res, say};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Tells the tests where the clients are: `bin/claude`, `bin/codex`.
pub const FOLDER: &str = "SHOPFLOOR_TEST_CLIENTS";
/// Another place for the cache.
const CACHE: &str = "SHOPFLOOR_CLIENT_CACHE";
const HINT: &str = "`cargo xtask test --no-clients` does without";

struct Client {
    program: &'static str,
    package: &'static str,
    version: &'static str,
    /// Where in `node_modules` the native program is; `*` is a folder whose name depends on the machine.
    path: &'static [&'static str],
}

/// npm's own files: what is installed, and the digest of each package. After a change of a version:
/// `npm install --package-lock-only --ignore-scripts --force --omit-lockfile-registry-resolved` in that folder.
const FILES: [(&str, &str); 2] = [
    ("package.json", include_str!("../clients/package.json")),
    ("package-lock.json", include_str!("../clients/package-lock.json")),
];

const CLIENTS: [Client; 2] = [
    Client {
        program: "claude",
        package: "@anthropic-ai/claude-code",
        version: "2.1.325",
        path: &["@anthropic-ai", "claude-code-*", "claude"],
    },
    Client {
        program: "codex",
        package: "@openai/codex",
        version: "0.166.0",
        path: &["@openai", "codex-*", "vendor", "*", "bin", "codex"],
    },
];

/// The folder with the clients, fetched if it is not there.
pub fn ensure() -> Res<PathBuf> {
    let cache = cache_folder(|name| std::env::var_os(name)).ok_or_else(|| {
        format!("there is no HOME to keep the agent clients under: set {CACHE} to a folder; {HINT}")
    })?;
    ensure_in(&cache, Path::new("npm"))
}

fn cache_folder(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let folder = |name: &str| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    folder(CACHE).or_else(|| {
        let caches = folder("XDG_CACHE_HOME").or_else(|| Some(folder("HOME")?.join(".cache")))?;
        Some(caches.join("shopfloor").join("clients"))
    })
}

fn ensure_in(cache: &Path, npm: &Path) -> Res<PathBuf> {
    let pins: Vec<String> = CLIENTS.iter().map(|c| format!("{}-{}", c.program, c.version)).collect();
    let folder = cache.join(pins.join("+"));
    if folder.exists() {
        check(&folder).map_err(|why| format!("{why}\nremove {} and try again; {HINT}", folder.display()))?;
        return Ok(folder);
    }
    std::fs::create_dir_all(cache).map_err(|e| format!("{} cannot be made: {e}; {HINT}", cache.display()))?;
    remove_leftovers(cache);
    let part = cache.join(format!(".part-{}", std::process::id()));
    let fetched = fetch(&part, npm).and_then(|()| match std::fs::rename(&part, &folder) {
        // Another run was faster, and what it fetched is the same.
        Err(_) if folder.exists() => Ok(()),
        done => done.map_err(|e| format!("{} cannot be made: {e}", folder.display())),
    });
    if part.exists() && std::fs::remove_dir_all(&part).is_err() {
        say(format!("{} could not be removed", part.display()));
    }
    fetched.map_err(|why| format!("the agent clients could not be fetched: {why}\n{HINT}"))?;
    Ok(folder)
}

fn fetch(part: &Path, npm: &Path) -> Res<()> {
    let packages: Vec<String> = CLIENTS.iter().map(|c| format!("{}@{}", c.package, c.version)).collect();
    say(format!("fetching {} with npm, once (some hundred megabytes)", packages.join(" and ")));
    let bin = part.join("bin");
    std::fs::create_dir_all(&bin).map_err(|e| format!("{}: {e}", bin.display()))?;
    for (name, text) in FILES {
        std::fs::write(part.join(name), text).map_err(|e| format!("{}: {e}", part.join(name).display()))?;
    }
    let mut install = Command::new(npm);
    clean(&mut install);
    // Without --force, an older Node leaves out what asks for a newer one.
    install.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--force", "--loglevel=error"]);
    install.arg("--prefix").arg(part);
    sh::output(&mut install)?;
    for client in &CLIENTS {
        let native = find(&part.join("node_modules"), client.path).ok_or_else(|| {
            format!("{} {} has no program for this machine", client.package, client.version)
        })?;
        // Relative, for the folder is about to be renamed.
        let native = native.strip_prefix(part).expect("it was found below");
        std::os::unix::fs::symlink(Path::new("..").join(native), bin.join(client.program))
            .map_err(|e| format!("{}: {e}", client.program))?;
    }
    check(part)
}

/// npm gets what it finds its registry by, and nothing else.
fn clean(command: &mut Command) {
    const KEPT: [&str; 9] = [
        "PATH",
        "HOME",
        "TMPDIR",
        "NODE_EXTRA_CA_CERTS",
        "SSL_CERT_FILE",
        "SSL_CERT_DIR",
        "http_proxy",
        "https_proxy",
        "no_proxy",
    ];
    command.env_clear();
    for (name, value) in std::env::vars_os() {
        let known = name.to_str().is_some_and(|name| {
            KEPT.iter().any(|kept| name.eq_ignore_ascii_case(kept))
                || name.to_ascii_lowercase().starts_with("npm_config_")
        });
        if known {
            command.env(name, value);
        }
    }
}

/// The first program there is at that path.
fn find(folder: &Path, path: &[&str]) -> Option<PathBuf> {
    let Some((name, rest)) = path.split_first() else {
        return folder.is_file().then(|| folder.to_owned());
    };
    let Some(prefix) = name.strip_suffix('*') else { return find(&folder.join(name), rest) };
    let entries = std::fs::read_dir(folder).ok()?.flatten();
    let mut names: Vec<OsString> = entries.map(|entry| entry.file_name()).collect();
    names.retain(|name| name.to_string_lossy().starts_with(prefix));
    names.sort();
    names.iter().find_map(|name| find(&folder.join(name), rest))
}

/// Each says that it is the version it should be.
fn check(folder: &Path) -> Res<()> {
    let home = sh::scratch("sf-clients")?;
    let checked = CLIENTS.iter().try_for_each(|client| {
        let mut version = Command::new(folder.join("bin").join(client.program));
        version.arg("--version").env_clear().env("PATH", "/usr/bin:/bin").env("HOME", &home);
        version.env("TMPDIR", &home).current_dir(&home);
        let said = sh::output(&mut version)?;
        match said.split_whitespace().any(|word| word == client.version) {
            true => Ok(()),
            false => Err(format!("{} is {said:?}, not version {}", client.program, client.version)),
        }
    });
    if std::fs::remove_dir_all(&home).is_err() {
        say(format!("{} could not be removed", home.display()));
    }
    checked
}

/// What runs that were killed left half fetched.
pub fn remove_leftovers(cache: &Path) {
    for entry in std::fs::read_dir(cache).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let owner = name.to_str().and_then(|name| name.strip_prefix(".part-")?.parse::<u32>().ok());
        if owner.is_some_and(|pid| !Path::new("/proc").join(pid.to_string()).exists()) {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    /// An npm that "installs" clients of these versions, and counts its calls beside itself.
    fn fake_npm(dir: &Path, claude: &str, codex: &str) -> PathBuf {
        let install = |path: &str, version: &str| {
            format!(
                "mkdir -p $(dirname \"$modules/{path}\")\nprintf '#!/bin/sh\\necho {version} \\$HOME\\n' > \"$modules/{path}\"\nchmod +x \"$modules/{path}\"\n"
            )
        };
        let script = format!(
            "#!/bin/sh\necho \"$@\" >> {}/calls\nwhile [ \"$1\" != --prefix ]; do shift; done\nmodules=$2/node_modules\n{}{}",
            dir.display(),
            install("@anthropic-ai/claude-code-linux-x64/claude", claude),
            install("@openai/codex-linux-x64/vendor/some-triple/bin/codex", codex)
        );
        let (text, npm) = (dir.join("npm.txt"), dir.join("npm"));
        std::fs::write(&text, script).unwrap();
        // By another process: a file that this one writes cannot be run while a test beside forks.
        sh::run(Command::new("install").args(["-m", "755"]).arg(&text).arg(&npm)).unwrap();
        npm
    }

    fn entries(dir: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(dir).unwrap().flatten();
        entries.map(|entry| entry.file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn clients_are_fetched_once() {
        let dir = sh::scratch("sf-fetch").unwrap();
        let npm = fake_npm(&dir, "2.1.325", "codex-cli 0.166.0");
        let cache = dir.join("cache");
        std::fs::create_dir_all(cache.join(".part-4294967295")).unwrap();
        let folder = ensure_in(&cache, &npm).unwrap();
        assert_eq!(ensure_in(&cache, &npm).unwrap(), folder);
        assert_eq!(entries(&cache), ["claude-2.1.325+codex-0.166.0"], "and nothing half fetched");
        let calls = std::fs::read_to_string(dir.join("calls")).unwrap();
        assert_eq!(calls.lines().count(), 1, "{calls}");
        assert!(calls.starts_with("ci ") && calls.contains("--ignore-scripts"), "{calls}");

        // What is in the cache is looked at, too.
        std::fs::remove_file(folder.join("bin/codex")).unwrap();
        let error = ensure_in(&cache, &npm).unwrap_err();
        assert!(error.contains("remove ") && error.contains("--no-clients"), "{error}");
        std::fs::remove_dir_all(&dir).unwrap();
    }

    #[test]
    fn every_package_has_a_digest_and_none_says_where_it_is_from() {
        let [package, lock] = FILES.map(|(_, text)| serde_json::from_str::<Value>(text).unwrap());
        let locked = lock["packages"].as_object().unwrap();
        for client in &CLIENTS {
            assert_eq!(package["dependencies"][client.package], client.version, "{}", client.package);
            let entry = &locked[&format!("node_modules/{}", client.package)];
            assert_eq!(entry["version"], client.version, "{}", client.package);
        }
        for (name, entry) in locked.iter().filter(|(name, _)| !name.is_empty()) {
            assert!(
                entry["integrity"].as_str().is_some_and(|digest| digest.starts_with("sha512-")),
                "{name}"
            );
            assert!(entry.get("resolved").is_none(), "{name} says where it is from");
        }
        assert!(!FILES[1].1.contains("://"));
    }

    #[test]
    fn what_cannot_be_fetched_leaves_nothing_and_gives_a_hint() {
        let dir = sh::scratch("sf-fetch").unwrap();
        let cache = dir.join("cache");
        for (npm, why) in [
            (fake_npm(&dir, "2.1.197", "0.166.0"), "not version 2.1.325"),
            (dir.join("no-npm"), "cannot be run"),
            (PathBuf::from("false"), "ended with"),
            (PathBuf::from("true"), "has no program for this machine"),
        ] {
            let error = ensure_in(&cache, &npm).unwrap_err();
            assert!(error.contains(why) && error.contains("--no-clients"), "{error}");
            assert!(entries(&cache).is_empty());
        }
        std::fs::remove_dir_all(&dir).unwrap();
    }

    #[test]
    fn the_cache_is_where_caches_are_or_where_one_says() {
        let at = |set: &[(&str, &str)]| {
            let set: Vec<(String, OsString)> =
                set.iter().map(|(name, value)| ((*name).to_owned(), value.into())).collect();
            cache_folder(|name| set.iter().find(|(n, _)| n == name).map(|(_, value)| value.clone()))
        };
        assert_eq!(at(&[("HOME", "/h")]), Some("/h/.cache/shopfloor/clients".into()));
        assert_eq!(at(&[("HOME", "/h"), ("XDG_CACHE_HOME", "/x")]), Some("/x/shopfloor/clients".into()));
        assert_eq!(at(&[("XDG_CACHE_HOME", "/x"), (CACHE, "/c")]), Some("/c".into()));
        assert_eq!(at(&[("XDG_CACHE_HOME", "relative")]), None);
    }
}
