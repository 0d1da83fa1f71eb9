//! `shopfloor`: see [`shopfloor::cli`].

fn main() -> std::process::ExitCode {
    shopfloor::cli::main()
}
