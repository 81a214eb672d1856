use super::Answer;

/// Print completions for a shell
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The shell to complete in
    #[arg(value_name = "SHELL")]
    shell: clap_complete::Shell,
}

pub fn run(args: &Args) -> Answer {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut super::command(), "weft", &mut text);
    Answer::plain(String::from_utf8_lossy(&text).into_owned())
}
