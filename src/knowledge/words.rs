//! Cuts text into the words that are indexed and searched: one cut for both.
//!
//! Chinese goes through jieba. Latin runs become lower case; an identifier (`snake_case`,
//! `v1.2.3`, `im.message.receive_v1`) is one word and its parts are words too; plain English words
//! lose their endings. Beside the words stand the pairs of neighbouring Chinese characters: they
//! find a word that the segmenter cut differently in another sentence.

use tantivy::tokenizer::{Token, TokenStream, Tokenizer};
use tantivy_jieba::JiebaTokenizer;

/// Longer words are not worth keeping: they are data, not language. In bytes.
const WORD_BYTES_MAX: usize = 80;
/// English words shorter than this keep their ending, in bytes.
const STEM_BYTES_MIN: usize = 5;

/// One word of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Word {
    /// As it is indexed.
    pub(super) term: String,
    /// As it was written, in lower case.
    pub(super) surface: String,
    /// Its script.
    pub(super) script: Script,
}

/// What a word is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Script {
    /// Letters and digits of ASCII.
    Latin,
    /// Everything else.
    Wide,
}

/// The words of `text`, in order. Loads the segmenter's dictionary when the first non-ASCII text
/// is cut (about 150 ms and 32 MB, once a process).
pub(super) fn words(text: &str) -> Vec<Word> {
    let mut words = Vec::new();
    for (script, run) in runs(text) {
        match script {
            Script::Latin => latin(&run, &mut words),
            Script::Wide => wide(&run, &mut words),
        }
    }
    words.retain(|word| word.term.len() <= WORD_BYTES_MAX);
    words
}

/// The pairs of neighbouring non-ASCII characters of `text`.
pub(super) fn pairs(text: &str) -> Vec<String> {
    let mut pairs = Vec::new();
    for (script, run) in runs(text) {
        let characters: Vec<char> = run.chars().collect();
        if script == Script::Wide {
            pairs.extend(characters.windows(2).map(String::from_iter));
        }
    }
    pairs
}

/// Runs of one script; what separates them (spaces, punctuation, symbols) is gone.
fn runs(text: &str) -> Vec<(Script, String)> {
    let mut runs: Vec<(Script, String)> = Vec::new();
    let mut open: Option<Script> = None;
    for character in text.chars().map(half_width) {
        let script = if character.is_ascii_alphanumeric() {
            Some(Script::Latin)
        } else if character.is_ascii() {
            // A connector keeps a Latin run open and is trimmed if nothing follows it.
            open.filter(|script| *script == Script::Latin && is_connector(character))
        } else {
            character.is_alphanumeric().then_some(Script::Wide)
        };
        match (script, open, runs.last_mut()) {
            (Some(script), Some(before), Some((_, run))) if script == before => run.push(character),
            (Some(script), _, _) => runs.push((script, character.to_string())),
            (None, _, _) => {}
        }
        open = script;
    }
    runs
}

/// Full-width forms of ASCII as ASCII.
fn half_width(character: char) -> char {
    match u32::from(character) {
        code @ 0xff01..=0xff5e => char::from_u32(code - 0xfee0).unwrap_or(character),
        _ => character,
    }
}

fn is_connector(character: char) -> bool {
    matches!(character, '_' | '.' | '-')
}

fn latin(run: &str, words: &mut Vec<Word>) {
    let run = run.trim_end_matches(is_connector);
    let parts: Vec<&str> =
        run.split(is_connector).flat_map(camel_parts).filter(|part| !part.is_empty()).collect();
    let whole = run.to_ascii_lowercase();
    if let [_single] = parts.as_slice() {
        words.push(latin_word(stem(&whole), whole.clone()));
        return;
    }
    words.push(latin_word(whole.clone(), whole));
    for part in parts {
        // The lone digits of versions say nothing.
        if part.len() > 1 || !part.bytes().all(|byte| byte.is_ascii_digit()) {
            let part = part.to_ascii_lowercase();
            words.push(latin_word(stem(&part), part));
        }
    }
}

fn latin_word(term: String, surface: String) -> Word {
    Word { term, surface, script: Script::Latin }
}

/// `parseHttpUrl` as `parse`, `Http`, `Url`; `OpenAI` as `Open`, `AI`.
fn camel_parts(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = text;
    let mut before = None;
    let mut start = 0;
    for (index, byte) in text.bytes().enumerate() {
        let breaks =
            byte.is_ascii_uppercase() && before.is_some_and(|b: u8| b.is_ascii_lowercase());
        if breaks && let Some((part, behind)) = rest.split_at_checked(index - start) {
            parts.push(part);
            rest = behind;
            start = index;
        }
        before = Some(byte);
    }
    parts.push(rest);
    parts
}

/// A plain English word without its ending; the same rule for texts and queries is what counts.
fn stem(word: &str) -> String {
    if word.len() < STEM_BYTES_MIN || !word.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return word.to_owned();
    }
    let mut stem = word;
    let keeps_s = ["ss", "us", "is"].iter().any(|end| word.ends_with(end));
    for ending in ["ing", "ed", "es", "s"] {
        let is_plural = ending.ends_with('s');
        if let Some(rest) = word.strip_suffix(ending)
            && rest.len() >= 3
            && !(is_plural && keeps_s)
        {
            stem = rest;
            break;
        }
    }
    let doubled = match stem.as_bytes() {
        [.., a, b] => stem.len() < word.len() && stem.len() > 3 && a == b && !b"lsz".contains(a),
        _ => false,
    };
    let cut = if doubled { stem.len() - 1 } else { stem.len() };
    let stem = stem.get(..cut).unwrap_or(stem);
    if let Some(rest) = stem.strip_suffix("ion")
        && (rest.ends_with("ct") || rest.ends_with("pt"))
    {
        return rest.to_owned();
    }
    match stem.strip_suffix('e') {
        Some(rest) if rest.len() >= 3 => rest.to_owned(),
        _ => stem.to_owned(),
    }
}

fn wide(run: &str, words: &mut Vec<Word>) {
    let mut jieba = JiebaTokenizer::new();
    let mut stream = jieba.token_stream(run);
    while stream.advance() {
        let term = stream.token().text.to_lowercase();
        words.push(Word { surface: term.clone(), term, script: Script::Wide });
    }
}

/// A tokenizer for the index out of a function that cuts text.
#[derive(Clone)]
pub(super) struct Cut(pub(super) fn(&str) -> Vec<String>);

/// The tokens of one text.
pub(super) struct Cuts {
    rest: std::vec::IntoIter<String>,
    token: Token,
}

impl Tokenizer for Cut {
    type TokenStream<'a> = Cuts;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> Cuts {
        Cuts { rest: (self.0)(text).into_iter(), token: Token::default() }
    }
}

impl TokenStream for Cuts {
    fn advance(&mut self) -> bool {
        let Some(text) = self.rest.next() else {
            return false;
        };
        self.token.text = text;
        self.token.position = self.token.position.wrapping_add(1);
        true
    }

    fn token(&self) -> &Token {
        &self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        &mut self.token
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(text: &str) -> Vec<String> {
        words(text).into_iter().map(|word| word.term).collect()
    }

    #[test]
    fn identifiers_are_words_and_so_are_their_parts() {
        assert_eq!(terms("snake_case"), ["snake_case", "snak", "case"]);
        assert_eq!(terms("(v1.2.3)."), ["v1.2.3", "v1"]);
        assert_eq!(terms("E0502"), ["e0502"]);
        assert_eq!(terms("OpenAI"), ["openai", "open", "ai"]);
        assert_eq!(terms("ＡＢ－１２"), ["ab-12", "ab", "12"]);
    }

    #[test]
    fn the_forms_of_an_english_word_are_one() {
        for forms in [
            ["stop", "stopped", "stopping"],
            ["message", "messages", "messaging"],
            ["upgrade", "upgrades", "upgrading"],
            ["encrypt", "encrypted", "encryption"],
            ["connect", "connecting", "connections"],
        ] {
            let stems: Vec<String> = forms.iter().map(|form| stem(form)).collect();
            assert!(stems.iter().all(|stem| *stem == stems[0]), "{stems:?}");
        }
        assert_eq!(stem("status"), "status");
        assert_eq!(stem("process"), "process");
    }

    #[test]
    fn scripts_are_cut_apart_and_pairs_stay_inside_a_run() {
        assert_eq!(pairs("飞书bot没有，回复"), ["飞书", "没有", "回复"]);
        assert!(terms("飞书bot").contains(&"bot".to_owned()));
        assert_eq!(terms("🙂 … --"), Vec::<String>::new());
    }
}
