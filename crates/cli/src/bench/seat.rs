//! Which ranks a process is, and who says so.

use std::str::FromStr;

use weft_base::Diagnostic;

use crate::codes::NOT_MEASURED;

/// What `--rank` says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seat {
    /// Whatever started this process has put its number into the environment.
    Launched,
    /// These, first and last: this process is the first of them and starts the others.
    Ranks(u32, u32),
}

impl FromStr for Seat {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "auto" {
            return Ok(Self::Launched);
        }
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        match (first.parse(), last.parse()) {
            (Ok(first), Ok(last)) if first <= last => Ok(Self::Ranks(first, last)),
            _ => Err("a rank is a number (`3`), several of one host a range (`4-7`), or `auto`".to_owned()),
        }
    }
}

/// Where launchers put the number of a process and how many there are. What a launcher sets for its own processes comes
/// before what a batch system sets for all that runs in a job: `mpirun` may itself be a step of Slurm.
const LAUNCHERS: [(&str, &str, &str); 5] = [
    ("Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("MVAPICH", "MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"),
    ("PMI (MPICH, Intel MPI)", "PMI_RANK", "PMI_SIZE"),
    ("Flux", "FLUX_TASK_RANK", "FLUX_JOB_SIZE"),
    ("Slurm", "SLURM_PROCID", "SLURM_NTASKS"),
];

/// The rank of this process and, where it is known, how many there are; by its environment.
pub fn launched(variable: impl Fn(&str) -> Option<String>) -> Result<(u32, Option<u32>), Diagnostic> {
    for (name, rank, ranks) in LAUNCHERS {
        let Some(text) = variable(rank) else { continue };
        let number = |text: &str| text.trim().parse::<u32>().ok();
        let Some(own) = number(&text) else {
            let message = format!("{name} says in `{rank}` that this is rank `{text}`, which is no number");
            return Err(Diagnostic::error(NOT_MEASURED, message).hint("give it with `--rank NUMBER`"));
        };
        return Ok((own, variable(ranks).and_then(|text| number(&text))));
    }
    let names: Vec<&str> = LAUNCHERS.iter().map(|(_, rank, _)| *rank).collect();
    let message = format!("nothing says which rank this is: none of {} is set", names.join(", "));
    let hint = "`--rank auto` is for `srun`, `mpirun` and the like; else give `--rank NUMBER`";
    Err(Diagnostic::error(NOT_MEASURED, message).hint(hint))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(set: &[(&str, &str)]) -> Result<(u32, Option<u32>), Diagnostic> {
        launched(|name| set.iter().find(|(known, _)| *known == name).map(|(_, text)| (*text).to_owned()))
    }

    #[test]
    fn ranks_are_numbers_ranges_or_the_launchers() {
        assert_eq!("3".parse(), Ok(Seat::Ranks(3, 3)));
        assert_eq!("4-7".parse(), Ok(Seat::Ranks(4, 7)));
        assert_eq!("auto".parse(), Ok(Seat::Launched));
        for text in ["", "7-4", "-1", "a", "1-", "1-2-3"] {
            assert!(text.parse::<Seat>().is_err(), "{text}");
        }
    }

    #[test]
    fn launchers_say_the_rank() {
        assert_eq!(with(&[("SLURM_PROCID", "5"), ("SLURM_NTASKS", "8")]), Ok((5, Some(8))));
        assert_eq!(with(&[("PMI_RANK", "1")]), Ok((1, None)));
        // In a batch script of Slurm, all of what `mpirun` starts has the same SLURM_PROCID.
        let both = [("SLURM_PROCID", "0"), ("OMPI_COMM_WORLD_RANK", "3"), ("OMPI_COMM_WORLD_SIZE", "4")];
        assert_eq!(with(&both), Ok((3, Some(4))));
        assert!(with(&[("PMI_RANK", "x")]).unwrap_err().message.contains("no number"));
        assert!(with(&[]).unwrap_err().message.contains("SLURM_PROCID"));
    }
}
