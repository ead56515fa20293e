//! What people see of the Markdown of a card: entities as the characters that they stand for,
//! mentions as names (feishu-protocol.md 5.5). Code stands as it was written, and so do the marks
//! of Markdown: nothing is laid out here.

use crate::playground::world::World;

/// The entities that have names. The platform writes `~` as `&sim;`.
const NAMED: [(&str, char); 6] =
    [("lt", '<'), ("gt", '>'), ("amp", '&'), ("quot", '"'), ("sim", '~'), ("nbsp", '\u{a0}')];
/// The longest name or number of an entity that is looked at, in bytes.
const ENTITY_BYTES_MAX: usize = 8;
/// The shortest fence.
const FENCE_MIN: usize = 3;

/// The character that an entity at the beginning of `text` stands for, and what follows it.
pub(crate) fn entity(text: &str) -> Option<(char, &str)> {
    let (name, tail) = text.strip_prefix('&')?.split_once(';')?;
    if name.len() > ENTITY_BYTES_MAX {
        return None;
    }
    let Some(number) = name.strip_prefix('#') else {
        let (_, character) = NAMED.iter().find(|(known, _)| *known == name)?;
        return Some((*character, tail));
    };
    let (digits, radix) = match number.strip_prefix(['x', 'X']) {
        Some(digits) => (digits, 16),
        None => (number, 10),
    };
    // `from_str_radix` would take a sign, too.
    if !digits.chars().all(|digit| digit.is_digit(radix)) {
        return None;
    }
    let number = u32::from_str_radix(digits, radix).ok()?;
    Some((char::from_u32(number).filter(|one| *one != '\0').unwrap_or('\u{fffd}'), tail))
}

/// The ids in a mention at the beginning of `text`, and what follows it.
pub(crate) fn at(text: &str) -> Option<(Vec<&str>, &str)> {
    let (attribute, tail) = text.strip_prefix("<at ")?.split_once('>')?;
    let ids = attribute.trim().strip_prefix("id").map(|ids| ids.strip_prefix('s').unwrap_or(ids));
    let ids = ids?.strip_prefix('=')?.trim_matches(['"', '\'', ' ']);
    let ids: Vec<&str> = ids.split(',').map(str::trim).collect();
    if ids.iter().any(|id| id.is_empty() || id.contains(['<', '\n'])) {
        return None;
    }
    let closed = tail.split_once("</at>").filter(|(inner, _)| !inner.contains(['<', '\n']));
    Some((ids, closed.map_or(tail, |(_, tail)| tail)))
}

/// The code span at the beginning of `text` with its marks, or the marks alone if nothing closes
/// them; and what follows.
pub(crate) fn code_span(text: &str) -> Option<(&str, &str)> {
    let marks = run(text, '`');
    if marks == 0 {
        return None;
    }
    let (_, mut tail) = text.split_at_checked(marks)?;
    while let Some(found) = tail.find('`') {
        let (_, closing) = tail.split_at_checked(found)?;
        let length = run(closing, '`');
        (_, tail) = closing.split_at_checked(length)?;
        if length == marks {
            return text.split_at_checked(text.len().checked_sub(tail.len())?);
        }
    }
    text.split_at_checked(marks)
}

fn run(text: &str, mark: char) -> usize {
    text.len() - text.trim_start_matches(mark).len()
}

/// The mark behind a backslash, which begins nothing, and what follows it.
pub(crate) fn escaped(text: &str) -> Option<(char, &str)> {
    let mut letters = text.chars();
    let mark = letters.next().filter(char::is_ascii_punctuation)?;
    Some((mark, letters.as_str()))
}

/// The fence of a code block: its mark and its length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fence {
    mark: char,
    length: usize,
}

impl Fence {
    /// The fence that a line opens; what stands in a quotation or in a list may do so, too.
    pub(crate) fn opened(line: &str) -> Option<Self> {
        let line = line.trim_start_matches([' ', '\t', '>']);
        let mark = line.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
        let length = run(line, mark);
        let info = line.trim_start_matches(mark);
        let is_fence = length >= FENCE_MIN && !(mark == '`' && info.contains('`'));
        is_fence.then_some(Self { mark, length })
    }

    /// Whether a line closes it.
    pub(crate) fn is_closed_by(self, line: &str) -> bool {
        let line = line.trim_start_matches([' ', '\t', '>']).trim_end();
        run(line, self.mark) >= self.length && line.trim_start_matches(self.mark).is_empty()
    }
}

/// A Markdown text without its code, spans and fenced blocks: nothing in these is markup.
pub(crate) fn prose(text: &str) -> String {
    let mut prose = String::with_capacity(text.len());
    let mut paragraph = String::new();
    let mut fence: Option<Fence> = None;
    // A blank line at the end closes the last paragraph.
    for line in text.split_inclusive('\n').chain([""]) {
        let opened = Fence::opened(line);
        if fence.is_none() && opened.is_none() && !line.trim().is_empty() {
            paragraph.push_str(line);
            continue;
        }
        prose.push_str(&without_spans(&std::mem::take(&mut paragraph)));
        fence = match fence {
            Some(open) => Some(open).filter(|open| !open.is_closed_by(line)),
            None => opened,
        };
    }
    prose
}

fn without_spans(paragraph: &str) -> String {
    let mut prose = String::with_capacity(paragraph.len());
    let mut rest = paragraph;
    while let Some((before, marks)) = rest.find('`').and_then(|at| rest.split_at_checked(at)) {
        prose.push_str(before);
        rest = code_span(marks).map_or("", |(_, tail)| tail);
    }
    prose.push_str(rest);
    prose
}

/// What people of `world` see of a Markdown text.
pub(crate) fn visible(text: &str, world: &World) -> String {
    Reader { world: Some(world), ..Reader::default() }.visible(text)
}

/// Reads the texts of one card and notes whom they mention.
#[derive(Debug, Default)]
pub(crate) struct Reader<'world> {
    /// Whose names are known; `None`: mentions stand as they were written.
    pub(crate) world: Option<&'world World>,
    /// The names of those who are mentioned, each once.
    pub(crate) mentions: Vec<String>,
}

impl Reader<'_> {
    /// What people see of a Markdown text.
    pub(crate) fn visible(&mut self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut paragraph = String::new();
        let mut fence: Option<Fence> = None;
        for line in text.split_inclusive('\n') {
            let opened = Fence::opened(line);
            if fence.is_none() && opened.is_none() && !line.trim().is_empty() {
                paragraph.push_str(line);
                continue;
            }
            // A code span goes over the lines of one paragraph and no further.
            out.push_str(&self.paragraph(&std::mem::take(&mut paragraph)));
            out.push_str(line);
            fence = match fence {
                Some(open) => Some(open).filter(|open| !open.is_closed_by(line)),
                None => opened,
            };
        }
        out.push_str(&self.paragraph(&paragraph));
        out
    }

    fn paragraph(&mut self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            let (_, after) = rest.split_at_checked(first.len_utf8()).unwrap_or_default();
            let (piece, tail) = match first {
                '`' => code_span(rest).map(|(code, tail)| (code.to_owned(), tail)),
                '\\' => escaped(after).map(|(mark, tail)| (format!("\\{mark}"), tail)),
                '&' => entity(rest).map(|(character, tail)| (character.to_string(), tail)),
                '<' => at(rest).and_then(|(ids, tail)| Some((self.named(&ids)?, tail))),
                _ => None,
            }
            .unwrap_or_else(|| (first.to_string(), after));
            out.push_str(&piece);
            rest = tail;
        }
        out
    }

    /// The words of a mention, if all that it names are known.
    fn named(&mut self, ids: &[&str]) -> Option<String> {
        let mut words = Vec::with_capacity(ids.len());
        let mut names = Vec::new();
        for id in ids {
            if *id == "all" {
                // As in a text.
                words.push("@_all".to_owned());
                continue;
            }
            let name = self.world?.called(id)?;
            words.push(format!("@{name}"));
            names.push(name);
        }
        for name in names {
            if !self.mentions.iter().any(|known| known == name) {
                self.mentions.push(name.to_owned());
            }
        }
        Some(words.join(" "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn world() -> World {
        let mut world = World::default();
        world.ensure_user("ann");
        world.ensure_user("ben");
        world
    }

    fn read(text: &str) -> (String, Vec<String>) {
        let world = world();
        let mut reader = Reader { world: Some(&world), ..Reader::default() };
        (reader.visible(text), reader.mentions)
    }

    #[test]
    fn people_see_characters_in_the_place_of_entities_but_not_in_code() {
        let table = [
            ("a &#60;b&#62; &#x2a;&#X2A; &lt;&gt;&amp;&quot;&sim;", "a <b> ** <>&\"~"),
            ("1&nbsp;2", "1\u{a0}2"),
            ("&amp;lt; stays &lt", "&lt; stays &lt"),
            ("&nope; &#; &#x; &#+1; &#-1; &;", "&nope; &#; &#x; &#+1; &#-1; &;"),
            ("&#0; &#xd800; &#1114112;", "\u{fffd} \u{fffd} \u{fffd}"),
            ("`&#60;` &#60; ``a ` &lt;`` &lt;", "`&#60;` < ``a ` &lt;`` <"),
            ("not closed ` &#60;", "not closed ` <"),
            ("`open &lt;\n\n` &lt;", "`open <\n\n` <"),
            ("`over\n&lt; lines` &lt;", "`over\n&lt; lines` <"),
            ("\\` &lt; `", "\\` < `"),
            ("&lt;\n```rust\n&lt;\n\n&gt;\n```\n&gt;", "<\n```rust\n&lt;\n\n&gt;\n```\n>"),
            ("~~~~\n&lt;\n~~~\n&lt;\n~~~~~\n&lt;", "~~~~\n&lt;\n~~~\n&lt;\n~~~~~\n<"),
            ("> ```\n> &lt;\n> ```\n> &lt;", "> ```\n> &lt;\n> ```\n> <"),
            ("    ```\n    &lt;\n    ```\n&lt;", "    ```\n    &lt;\n    ```\n<"),
            ("```not` a fence\n&lt;", "```not` a fence\n<"),
            ("**bold** stays, 中文 &#60;", "**bold** stays, 中文 <"),
            ("```\nnever closed &lt;", "```\nnever closed &lt;"),
        ];
        for (text, expected) in table {
            assert_eq!(read(text).0, expected, "{text}");
        }
    }

    #[test]
    fn mentions_of_known_people_are_names_and_nothing_else_is_a_mention() {
        let world = world();
        let (ann, ben) = (&world.users[0].open_id, &world.users[1].open_id);
        let table = [
            (format!("✓ <at id={ann}></at> Yes"), "✓ @ann Yes", &["ann"][..]),
            (format!("<at id=\"{ann}\"></at>, <at id='{ann}'>Ann</at>."), "@ann, @ann.", &["ann"]),
            (format!("<at ids={ann},{ben}></at>"), "@ann @ben", &["ann", "ben"]),
            ("<at id=all></at>!".to_owned(), "@_all!", &[]),
            ("<at id=ou_x></at>".to_owned(), "<at id=ou_x></at>", &[]),
            (format!("<at ids={ann},ou_x></at>"), &format!("<at ids={ann},ou_x></at>"), &[]),
            (format!("`<at id={ann}></at>`"), &format!("`<at id={ann}></at>`"), &[]),
            (format!("&#60;at id={ann}></at>"), &format!("<at id={ann}></at>"), &[]),
            (format!("<at user_id=\"{ann}\"></at>"), &format!("<at user_id=\"{ann}\"></at>"), &[]),
            ("<at id=></at> <at ".to_owned(), "<at id=></at> <at ", &[]),
        ];
        for (text, expected, mentions) in table {
            let (seen, mentioned) = read(&text);
            assert_eq!(
                (seen.as_str(), mentioned),
                (expected, mentions.iter().map(|name| (*name).to_owned()).collect()),
                "{text}"
            );
        }
        let unknown = Reader::default().visible(&format!("<at id={ann}></at> &lt;"));
        assert_eq!(unknown, format!("<at id={ann}></at> <"));
    }
}
