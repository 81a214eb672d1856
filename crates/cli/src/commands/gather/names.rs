//! Which words name hosts, users and serial numbers: what this machine calls itself, and what outputs of known
//! shape say.

use std::collections::BTreeSet;
use std::time::Duration;
use std::{env, fs};

use weft_catalogue::Catalogue;

use super::anonymise::learn_guids;
use super::run;

/// Words that are names of hosts or users on no machine that matters, but stand everywhere in outputs.
const COMMON: &[&str] = &[
    "localhost",
    "root",
    "node",
    "host",
    "gpu",
    "cpu",
    "numa",
    "nvidia",
    "mellanox",
    "linux",
    "ubuntu",
    "debian",
    "link",
    "port",
    "switch",
    "mlx5",
    "mlx4",
    "default",
    "none",
    "system",
    "test",
    "user",
    "home",
    "admin",
    "amd",
    "intel",
    "pci",
    "eth0",
    "ib0",
];
/// Descriptions that switches and adapters have from their makers.
const MAKERS: &[&str] = &[
    "mellanox",
    "technologies",
    "infiniscale",
    "infiniband",
    "aggregation",
    "sharp",
    "connectx",
    "quantum-",
];
/// Shorter names would be found inside of much else.
const LENGTH_MIN: usize = 3;
/// How long a host may take to say its name.
const LIMIT: Duration = Duration::from_secs(3);

/// Words that must not leave the machine, each with what it names.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Names {
    /// Hosts and switches, without their domain.
    pub hosts: BTreeSet<String>,
    /// Domains.
    pub domains: BTreeSet<String>,
    /// Users.
    pub users: BTreeSet<String>,
    /// Serial numbers.
    pub serials: BTreeSet<String>,
    /// GUIDs, as numbers.
    pub guids: BTreeSet<u64>,
}

/// What this machine and its user are called.
#[expect(clippy::disallowed_methods, reason = "the command line is where files are read")]
pub fn of_this_machine() -> Names {
    let mut names = Names::default();
    for path in ["/proc/sys/kernel/hostname", "/etc/hostname"] {
        names.add_host(fs::read_to_string(path).unwrap_or_default().trim());
    }
    for (program, argument) in [("hostname", "-f"), ("uname", "-n")] {
        if let Some(program) = run::find(program) {
            let ran = run::run(&program, &[argument.to_owned()], LIMIT);
            names.add_host(String::from_utf8_lossy(&ran.output).trim());
        }
    }
    for variable in ["USER", "LOGNAME", "SUDO_USER", "HOSTNAME"] {
        let value =
            env::var_os(variable).map(|value| value.to_string_lossy().into_owned()).unwrap_or_default();
        if variable == "HOSTNAME" { names.add_host(&value) } else { names.add_user(&value) }
    }
    names
}

fn is_name(text: &str) -> bool {
    let plain = text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'));
    let lettered = text.contains(|c: char| c.is_ascii_alphabetic());
    let lower = text.to_ascii_lowercase();
    text.len() >= LENGTH_MIN && plain && lettered && !COMMON.contains(&lower.as_str()) && !is_of_model(&lower)
}

/// Whether a word is part of a device's name, such as `h100`: replaced everywhere, it would take the model away.
fn is_of_model(word: &str) -> bool {
    let catalogue = Catalogue::embedded();
    let gpus = catalogue.gpus.iter().flat_map(|gpu| gpu.aliases.iter().chain([&gpu.title]));
    let cpus = catalogue.cpus.iter().flat_map(|cpu| cpu.aliases.iter().chain([&cpu.title]));
    let nics = catalogue.nics.iter().flat_map(|nic| nic.aliases.iter().chain([&nic.title]));
    let mut words =
        gpus.chain(cpus).chain(nics).flat_map(|name| name.split(|c: char| !c.is_ascii_alphanumeric()));
    words.any(|other| other.eq_ignore_ascii_case(word))
}

impl Names {
    /// A host by its short or its full name.
    pub fn add_host(&mut self, name: &str) {
        let (short, domain) = name.split_once('.').unwrap_or((name, ""));
        if is_name(short) {
            self.hosts.insert(short.to_owned());
        }
        if is_name(domain) {
            self.domains.insert(domain.to_owned());
        }
    }

    /// A user.
    pub fn add_user(&mut self, name: &str) {
        if is_name(name) {
            self.users.insert(name.to_owned());
        }
    }

    /// Learns the names that `text` gives away by where they stand.
    pub fn learn(&mut self, text: &str) {
        let is_fabric = text.contains("\"S-")
            || text.contains("\"H-")
            || text.contains("Switch: 0x")
            || text.contains("CA: ");
        learn_guids(text, &mut self.guids);
        for line in text.lines() {
            self.learn_users(line);
            self.learn_serial(line);
            if is_fabric {
                self.learn_description(line);
            }
        }
    }

    /// The folder of a user's own, `home/NAME` of Linux or `Users/NAME` of others.
    fn learn_users(&mut self, line: &str) {
        for folder in ["home", "Users"] {
            for rest in line.split(&format!("/{folder}/")).skip(1) {
                let end = rest
                    .find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')))
                    .unwrap_or(rest.len());
                self.add_user(rest[..end].trim_end_matches('.'));
            }
        }
    }

    /// `Serial Number : X`, `[SN] Serial number: X`, `Vendor SN : X`.
    fn learn_serial(&mut self, line: &str) {
        let Some((key, value)) = line.split_once(':') else { return };
        let key = key.trim().to_ascii_lowercase();
        let names_it =
            key.contains("serial") || key.split_whitespace().any(|word| word == "sn" || word == "[sn]");
        let value = value.trim().trim_matches('"');
        let plain = value.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '/'));
        let numbered = value.bytes().filter(u8::is_ascii_digit).count() >= 3;
        if names_it && plain && numbered && value.len() >= 5 {
            self.serials.insert(value.to_owned());
        }
    }

    /// `"node-17 mlx5_0"`, `"MF0;leaf-3:MQM9700/U1"`, `CA: node-17 mlx5_0:`, `Switch: 0x… leaf-3:`.
    fn learn_description(&mut self, line: &str) {
        let trimmed = line.trim();
        if let Some(rest) = trimmed.strip_prefix("CA: ") {
            self.describe(rest.trim_end_matches(':'));
        } else if let Some(rest) = trimmed.strip_prefix("Switch: ") {
            self.describe(rest.split_once(' ').map_or("", |(_, rest)| rest).trim_end_matches(':'));
        }
        for (index, quoted) in line.split('"').enumerate() {
            if index % 2 == 1 {
                self.describe(quoted);
            }
        }
    }

    fn describe(&mut self, description: &str) {
        let description = description.trim();
        let lower = description.to_ascii_lowercase();
        let is_guid = ["S-", "H-", "R-", "SW-"].iter().any(|kind| description.starts_with(kind));
        if description.is_empty() || is_guid || MAKERS.iter().any(|maker| lower.contains(maker)) {
            return;
        }
        // Managed switches put their name between `MF0;` and the model.
        let name = match description.split_once(';') {
            Some((_, rest)) => rest.split(':').next().unwrap_or(rest),
            None => description.split([' ', ':', '/']).next().unwrap_or(description),
        };
        self.add_host(name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_learnt_from_where_they_stand() {
        let mut names = Names::default();
        names.learn("Ca\t1 \"H-0002c90300a1b2c3\"\t\t# \"rack4-n17 mlx5_0\"\n[1](2c90300a1b2c4) \t\"S-0002c90300a1b2d0\"[3]\t# \"MF0;leaf-3:MQM9700/U1\" lid 5 4xNDR\n");
        names.learn("Switch\t36 \"S-0002c90300a1b2d0\"\t# \"Quantum Mellanox Technologies\" base port 0 lid 2 lmc 0\n");
        names.learn("    Serial Number                         : 1650321000001\n/Users/jane.doe/run\n\t[SN] Serial number: MT2231X01234\n");
        assert_eq!(names.hosts.iter().map(String::as_str).collect::<Vec<_>>(), ["leaf-3", "rack4-n17"]);
        assert_eq!(names.users.iter().map(String::as_str).collect::<Vec<_>>(), ["jane.doe"]);
        assert_eq!(
            names.serials.iter().map(String::as_str).collect::<Vec<_>>(),
            ["1650321000001", "MT2231X01234"]
        );
    }

    #[test]
    fn words_that_stand_everywhere_are_no_names() {
        let mut names = Names::default();
        for name in ["localhost", "gpu", "H100", "a1", "42", ""] {
            names.add_host(name);
        }
        assert_eq!(names, Names::default());
        names.add_host("gpu-07.cluster.example");
        assert!(names.hosts.contains("gpu-07") && names.domains.contains("cluster.example"));
    }
}
