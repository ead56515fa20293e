//! Names near to one that does not exist, to help a model correct itself.

/// How many near names are told.
const NEAR_NAMES_MAX: usize = 5;
/// The part of a name that is compared, in characters.
const NAME_CHARS_MAX: usize = 64;

/// Up to five of `known` that `wanted` may have meant, nearest first, then by name.
///
/// Near is a name within a third of its length in edits (at least two), or one that contains or
/// is contained in `wanted`. Case, `-` and `_` make no difference.
pub fn near_names<'a>(wanted: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let wanted = plain(wanted);
    let mut near: Vec<(usize, &str)> = known
        .into_iter()
        .filter_map(|name| distance(&wanted, &plain(name)).map(|distance| (distance, name)))
        .collect();
    near.sort_unstable();
    near.dedup();
    near.truncate(NEAR_NAMES_MAX);
    near.into_iter().map(|(_, name)| name).collect()
}

fn plain(name: &str) -> Vec<char> {
    name.chars()
        .filter(|character| !matches!(character, '_' | '-' | ' '))
        .flat_map(char::to_lowercase)
        .take(NAME_CHARS_MAX)
        .collect()
}

/// How far apart two names are; `None` if too far to mean the same.
fn distance(wanted: &[char], known: &[char]) -> Option<usize> {
    let edits = edit_distance(wanted, known);
    if edits <= (known.len() / 3).max(2) && edits < known.len() {
        return Some(edits);
    }
    let (short, long) = if wanted.len() < known.len() { (wanted, known) } else { (known, wanted) };
    let contained = short.len() >= 3 && long.windows(short.len()).any(|part| part == short);
    contained.then_some(edits)
}

/// The Levenshtein distance.
fn edit_distance(left: &[char], right: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (index, from) in left.iter().enumerate() {
        let mut next = Vec::with_capacity(row.len());
        let mut before = index + 1;
        next.push(before);
        for (pair, to) in row.windows(2).zip(right) {
            let &[diagonal, above] = pair else { continue };
            let replaced = diagonal + usize::from(from != to);
            before = replaced.min(above + 1).min(before + 1);
            next.push(before);
        }
        row = next;
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistyped_name_finds_its_neighbours_and_nothing_else() {
        let known = ["search_knowledge", "get_recipe", "read_file", "list_files"];
        assert_eq!(near_names("SearchKnowlege", known), ["search_knowledge"], "an edit away");
        assert_eq!(near_names("knowledge", known), ["search_knowledge"]);
        assert_eq!(near_names("file", known), ["read_file", "list_files"]);
        assert!(near_names("teleport", known).is_empty());
        assert!(near_names("", known).is_empty());
    }

    #[test]
    fn at_most_five_names_are_told() {
        let known: Vec<String> = (0..9).map(|index| format!("tool_{index}")).collect();
        let near = near_names("tool_x", known.iter().map(String::as_str));
        assert_eq!(near, ["tool_0", "tool_1", "tool_2", "tool_3", "tool_4"]);
    }

    #[test]
    fn a_huge_name_is_compared_by_its_beginning() {
        assert!(near_names(&"x".repeat(1 << 20), ["get_recipe"]).is_empty());
    }
}
