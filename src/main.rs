//! The binary: everything is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(larkspur::cli::run(std::env::args_os()).code())
}
