//! Numbers that hang on a secret and on what they stand for.

use std::hash::{BuildHasher as _, DefaultHasher, Hasher as _, RandomState};

/// The secret of one run.
#[derive(Debug, Clone)]
pub struct Secret(Vec<u8>);

impl Secret {
    /// Made of a text that the user keeps.
    pub fn of(seed: &str) -> Self {
        Self(seed.as_bytes().to_vec())
    }

    /// From the operating system.
    pub fn random() -> Self {
        // Each state has keys of its own.
        let part = || RandomState::new().build_hasher().finish().to_le_bytes();
        Self([part(), part(), part(), part()].concat())
    }

    /// A number for `text` as a thing of that kind.
    pub fn number(&self, kind: &str, text: &str) -> u64 {
        let mut hasher = DefaultHasher::new();
        for part in [&self.0, kind.as_bytes(), text.as_bytes()] {
            hasher.write_usize(part.len());
            hasher.write(part);
        }
        // Never the secret's own hash alone: a second turn with its result.
        hasher.write_u64(hasher.finish());
        hasher.finish()
    }

    /// Digits for digits and letters for letters.
    pub fn shaped(&self, text: &str) -> String {
        let other = |(index, c): (usize, char)| {
            let number = self.number("character", &format!("{index} {}", text.to_ascii_lowercase()));
            let pick = |set: &[u8]| {
                let index = usize::try_from(number % set.len() as u64).unwrap_or(0);
                char::from(set[index])
            };
            match c {
                '0'..='9' => pick(b"0123456789"),
                'a'..='z' => pick(b"abcdefghijkmnpqrstuvwxyz"),
                'A'..='Z' => pick(b"ABCDEFGHIJKMNPQRSTUVWXYZ"),
                _ => c,
            }
        };
        let made_up: String = text.chars().enumerate().map(other).collect();
        if made_up == text {
            self.shaped(&format!("{text}0")).chars().take(text.len()).collect()
        } else {
            made_up
        }
    }

    /// Hexadecimal digits for those of `text`, lower case, all other characters kept, leading zeros kept.
    pub fn hexadecimal(&self, kind: &str, digits: &str) -> String {
        let lower = digits.to_ascii_lowercase();
        let mut leading = true;
        let other = |(index, c): (usize, char)| {
            if !c.is_ascii_hexdigit() || (leading && c == '0') {
                return c;
            }
            let number = self.number(kind, &format!("{index} {lower}"));
            // The first digit that counts stays one that counts, so that lengths without zeros stay.
            let digit = if leading { 1 + number % 15 } else { number % 16 };
            leading = false;
            u32::try_from(digit).ok().and_then(|digit| char::from_digit(digit, 16)).unwrap_or('0')
        };
        lower.chars().enumerate().map(other).collect()
    }
}
