//! Which user this is, as the system knows it: a variable can say anything.

use std::fs;

/// The user's name; if no name is known, the number.
pub fn name() -> String {
    let user = rustix::process::getuid().as_raw();
    let known = fs::read_to_string("/etc/passwd").unwrap_or_default();
    named(user, &known).unwrap_or_else(|| format!("user {user}"))
}

fn named(user: u32, known: &str) -> Option<String> {
    known.lines().find_map(|line| {
        // `name:password:number:…`
        let mut fields = line.split(':');
        let (name, number) = (fields.next()?, fields.nth(1)?);
        (number.parse() == Ok(user) && !name.is_empty()).then(|| name.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_has_the_name_that_the_system_gives_them() {
        let known = "root:x:0:0:root:/root:/bin/bash\nada:x:1000:1000::/home/ada:/bin/sh\nbroken\n";
        assert_eq!(named(1000, known).as_deref(), Some("ada"));
        assert_eq!(named(1001, known), None);
    }
}
