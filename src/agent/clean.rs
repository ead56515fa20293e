//! Takes out of a model's last words what is not meant for people.
//!
//! Code blocks are left exactly as they are.

use crate::base::limit::is_blank;

const LEADS: [&str; 7] = [
    "final answer:",
    "final answer：",
    "最终回答：",
    "最终回答:",
    "最终答案：",
    "最终答案:",
    "answer:",
];
const FENCE: &str = "```";
const REASONING_TAGS: [(&str, &str); 3] =
    [("<think>", "</think>"), ("<thinking>", "</thinking>"), ("<reasoning>", "</reasoning>")];

/// The text as people should see it; may be empty.
pub(super) fn clean_final_answer(text: &str) -> String {
    let text = outside_code(&without_reasoning(text), &squeeze_blank_lines);
    let mut rest = text.trim();
    loop {
        let lead = LEADS.iter().find_map(|lead| strip_prefix_ignoring_case(rest, lead));
        match lead {
            Some(behind) => rest = behind.trim_start(),
            None if is_blank(rest) => return String::new(),
            None => return rest.to_owned(),
        }
    }
}

/// The same of an answer that is still being said: what may become a tag or a lead waits.
pub fn clean_growing_answer(text: &str) -> String {
    let tags = REASONING_TAGS.iter().map(|(opening, _)| *opening);
    let begun = tags.filter_map(|tag| begun_at(text, tag)).min();
    let settled = begun.and_then(|at| text.get(..at)).unwrap_or(text);
    let clean = clean_final_answer(settled);
    let lower = clean.to_lowercase();
    let may_be_lead = LEADS.iter().any(|lead| lead.starts_with(&lower));
    if may_be_lead { String::new() } else { clean }
}

/// Where the text ends with the beginning of `tag`.
fn begun_at(text: &str, tag: &str) -> Option<usize> {
    let ends = (1..tag.len()).filter_map(|length| tag.get(..length));
    ends.filter(|begun| text.ends_with(begun)).map(|begun| text.len() - begun.len()).min()
}

/// Applies `edit` to what stands outside of fenced code.
fn outside_code(text: &str, edit: &dyn Fn(&str) -> String) -> String {
    let mut result = String::with_capacity(text.len());
    let mut prose = String::new();
    let mut in_code = false;
    for line in text.split_inclusive('\n') {
        let is_fence = line.trim_start().starts_with(FENCE);
        if is_fence && !in_code {
            result.push_str(&edit(&prose));
            prose.clear();
        }
        if in_code || is_fence {
            result.push_str(line);
        } else {
            prose.push_str(line);
        }
        in_code ^= is_fence;
    }
    result.push_str(&edit(&prose));
    result
}

/// Without what stands between reasoning tags. A tag inside of fenced code is code; a thought may
/// hold code of its own.
fn without_reasoning(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    let mut rest = behind_first_thought(text);
    while let Some((at, opening)) = next_opening(rest) {
        let (before, from_opening) = rest.split_at_checked(at).unwrap_or((rest, ""));
        result.push_str(before);
        let inside = from_opening.strip_prefix(opening.0).unwrap_or_default();
        rest = match inside.split_once(opening.1) {
            Some((thought, after)) if opening.0 == FENCE => {
                result.push_str(FENCE);
                result.push_str(thought);
                result.push_str(FENCE);
                after
            }
            Some((_thought, after)) => after,
            // An unclosed fence is code to the end; an unclosed thought is no answer.
            None if opening.0 == FENCE => {
                result.push_str(from_opening);
                ""
            }
            None => "",
        };
    }
    result.push_str(rest);
    result
}

/// Some models leave out the tag that opens their first thought.
fn behind_first_thought(text: &str) -> &str {
    let closings =
        REASONING_TAGS.iter().filter_map(|(_, closing)| Some((text.find(closing)?, closing)));
    match (closings.min(), next_opening(text)) {
        (Some((closed, _)), Some((opened, _))) if opened < closed => text,
        (Some((closed, tag)), _) => text.get(closed + tag.len()..).unwrap_or_default(),
        (None, _) => text,
    }
}

/// The first fence or opening tag, with what closes it.
fn next_opening(text: &str) -> Option<(usize, (&'static str, &'static str))> {
    let openings = REASONING_TAGS.into_iter().chain([(FENCE, FENCE)]);
    openings.filter_map(|opening| Some((text.find(opening.0)?, opening))).min()
}

fn squeeze_blank_lines(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    let mut blank_lines = 0;
    for line in text.split_inclusive('\n') {
        blank_lines = if line.trim().is_empty() { blank_lines + 1 } else { 0 };
        if blank_lines <= 1 {
            result.push_str(line);
        }
    }
    result
}

fn strip_prefix_ignoring_case<'a>(text: &'a str, lead: &str) -> Option<&'a str> {
    let (head, rest) = text.split_at_checked(lead.len())?;
    head.eq_ignore_ascii_case(lead).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leads_and_thoughts_are_not_shown() {
        assert_eq!(clean_final_answer("Final Answer: 42"), "42");
        assert_eq!(clean_final_answer("<think>hm\n\nhm</think>\n最终回答：好"), "好");
        assert_eq!(clean_final_answer("<think>try\n```py\nx\n```\nok</think>\nDone."), "Done.");
        assert_eq!(clean_final_answer("before <think>never closed"), "before");
        assert_eq!(clean_final_answer("<think>only a thought</think>"), "");
        assert_eq!(clean_final_answer("never opened</think>\n\nanswer"), "answer");
        let code = "In code:\n```\n</think>\n```\nit stays.";
        assert_eq!(clean_final_answer(code), code);
    }

    #[test]
    fn of_a_growing_answer_nothing_is_shown_that_is_taken_back_later() {
        let whole = "<think>hm</think>Final answer: 1 < 2, and <b>";
        let mut shown = String::new();
        for end in 1..=whole.len() {
            let now = clean_growing_answer(whole.get(..end).unwrap());
            assert!(now.starts_with(shown.trim_end()), "{now:?} behind {shown:?}");
            shown = now;
        }
        assert_eq!(shown, clean_final_answer(whole));
        assert_eq!(clean_growing_answer("It is a <thi"), "It is a");
        assert_eq!(clean_growing_answer("最终答"), "");
    }

    #[test]
    fn code_is_left_as_it_is() {
        let text = "See:\n\n```py\nx = '<think>'\n\n\n\ny = 1\n```\n\n\n\nDone.";
        let clean = clean_final_answer(text);
        assert!(clean.contains("x = '<think>'\n\n\n\ny = 1"));
        assert!(clean.ends_with("```\n\nDone."));
    }
}
