//! Words and signs of a one-liner, with their columns.

use weft_base::{Diagnostic, Place};

use super::{SYNTAX, place_of};

/// A word or one of the signs `+ @ ( ) ,`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Token {
    pub text: String,
    /// In characters, from 1.
    pub column: u32,
}

pub(super) const SIGNS: [char; 5] = ['+', '@', '(', ')', ','];

/// The one word in which a sign is a letter.
const DRAGONFLY_PLUS: &str = "dragonfly+";

/// Splits `text` at blanks and signs.
pub(super) fn split(text: &str) -> Vec<Token> {
    let mut tokens: Vec<Token> = Vec::new();
    let mut in_word = false;
    for (column, character) in (1u32..).zip(text.chars()) {
        if character.is_whitespace() {
            in_word = false;
        } else if let Some(last) = tokens.last_mut().filter(|last| {
            in_word && DRAGONFLY_PLUS.strip_prefix(last.text.as_str()) == Some(character.to_string().as_str())
        }) {
            last.text.push(character);
        } else if SIGNS.contains(&character) {
            tokens.push(Token { text: character.into(), column });
            in_word = false;
        } else if in_word && let Some(last) = tokens.last_mut() {
            last.text.push(character);
        } else {
            tokens.push(Token { text: character.into(), column });
            in_word = true;
        }
    }
    tokens
}

/// Reads tokens one after the other.
pub(super) struct Cursor<'a> {
    text: &'a str,
    tokens: &'a [Token],
    next: usize,
}

impl<'a> Cursor<'a> {
    pub fn new(text: &'a str, tokens: &'a [Token]) -> Self {
        Self { text, tokens, next: 0 }
    }

    pub fn text(&self) -> &'a str {
        self.text
    }

    pub fn peek(&self) -> Option<&'a Token> {
        self.peek_at(0)
    }

    pub fn peek_at(&self, ahead: usize) -> Option<&'a Token> {
        self.tokens.get(self.next + ahead)
    }

    /// Skips `sign` if it is next.
    pub fn take(&mut self, sign: &str) -> bool {
        let found = self.peek().is_some_and(|token| token.text == sign);
        self.next += usize::from(found);
        found
    }

    pub fn expect(&mut self, sign: &str) -> Result<(), Diagnostic> {
        match self.peek() {
            Some(token) if token.text == sign => {
                self.next += 1;
                Ok(())
            }
            Some(token) => Err(self.error(token, &format!("`{sign}`"))),
            None => Err(self.error_at_end(&format!("`{sign}`"))),
        }
    }

    /// A word that is no sign.
    pub fn name(&mut self, what: &str) -> Result<Token, Diagnostic> {
        match self.peek() {
            Some(token) if token.text.starts_with(SIGNS) => Err(self.error(token, what)),
            Some(token) => {
                self.next += 1;
                Ok(token.clone())
            }
            None => Err(self.error_at_end(what)),
        }
    }

    /// A number from 1 to 9,999,999.
    pub fn number(&mut self, what: &str) -> Result<u32, Diagnostic> {
        self.number_to(9_999_999, what)
    }

    /// A number from 1 to 65,535.
    pub fn small_number(&mut self, what: &str) -> Result<u16, Diagnostic> {
        self.number_to(u16::MAX.into(), what).map(|number| u16::try_from(number).unwrap_or(u16::MAX))
    }

    fn number_to(&mut self, most: u32, what: &str) -> Result<u32, Diagnostic> {
        let token = self.name(what)?;
        let number = token.text.parse().ok().filter(|number| (1..=most).contains(number));
        number.ok_or_else(|| {
            let digits = token.text.bytes().all(|byte| byte.is_ascii_digit());
            let range = if digits { format!("{what} from 1 to {most}") } else { what.to_owned() };
            self.error(&token, &range)
        })
    }

    pub fn error(&self, token: &Token, expected: &str) -> Diagnostic {
        Diagnostic::error(SYNTAX, format!("expected {expected}, found `{}`", token.text))
            .hint("for example `8 h100-sxm @ nvswitch3(4) + 8 cx7 @ pcie5x16`")
            .at(place_of(self.text, token))
    }

    pub fn error_at_end(&self, expected: &str) -> Diagnostic {
        let end = u32::try_from(self.text.chars().count()).unwrap_or(u32::MAX);
        Diagnostic::error(SYNTAX, format!("expected {expected}, found the end of the line"))
            .hint("for example `8 h100-sxm @ nvswitch3(4) + 8 cx7 @ pcie5x16`")
            .at(Place::new(self.text, 1, end.saturating_add(1), 0))
    }
}
