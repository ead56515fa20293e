//! What a query asks for: its words without those that every question has.

use super::words::{Script, Word, pairs, words};
use crate::base::limit::prefix_bytes;

/// The part of a query that is looked at, in bytes.
const QUERY_BYTES_MAX: usize = 2048;
/// How many different words of a query count.
const UNITS_MAX: usize = 24;

/// One thing that a recipe can have or lack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unit {
    /// The word as it is indexed; `None` for characters that the segmenter left alone.
    pub(super) term: Option<String>,
    /// The pairs of characters that stand for it where it was cut differently; all must be there.
    pub(super) pairs: Vec<String>,
    /// As it is written, for finding the passage.
    pub(super) surface: String,
}

/// The units of a query, each once. Empty if the query has only words that say nothing.
pub(super) fn units(query: &str) -> Vec<Unit> {
    let mut units: Vec<Unit> = Vec::new();
    let mut lone: Vec<Unit> = Vec::new();
    let mut loose = String::new();
    let query = prefix_bytes(query, QUERY_BYTES_MAX);
    for word in words(query) {
        if is_stop(&word) {
            add_loose(&mut loose, query, &mut units);
            continue;
        }
        if word.script == Script::Wide && word.surface.chars().count() == 1 {
            loose.push_str(&word.surface);
            lone.push(Unit { term: Some(word.term), pairs: Vec::new(), surface: word.surface });
            continue;
        }
        add_loose(&mut loose, query, &mut units);
        let pairs = pairs(&word.surface);
        add(&mut units, Unit { term: Some(word.term), pairs, surface: word.surface });
    }
    add_loose(&mut loose, query, &mut units);
    if units.is_empty() {
        units = lone;
    }
    units.truncate(UNITS_MAX);
    units
}

/// Single characters in a row are a word that the segmenter does not know.
fn add_loose(loose: &mut String, query: &str, units: &mut Vec<Unit>) {
    let surface = std::mem::take(loose);
    if surface.chars().count() > 1 && query.contains(&surface) {
        let unit = Unit { term: None, pairs: pairs(&surface), surface };
        add(units, unit);
    }
}

fn add(units: &mut Vec<Unit>, unit: Unit) {
    if !units.iter().any(|known| known.term == unit.term && known.surface == unit.surface) {
        units.push(unit);
    }
}

fn is_stop(word: &Word) -> bool {
    let list = match word.script {
        Script::Latin => STOP_EN,
        Script::Wide => STOP_ZH,
    };
    list.contains(&word.surface.as_str())
}

const STOP_EN: &[&str] = &[
    "a", "about", "am", "an", "and", "any", "are", "as", "at", "be", "been", "but", "by", "can",
    "could", "did", "do", "does", "for", "from", "get", "got", "had", "has", "have", "he", "her",
    "here", "him", "his", "how", "i", "if", "in", "into", "is", "it", "its", "just", "know", "let",
    "me", "may", "might", "must", "my", "need", "no", "not", "of", "on", "or", "our", "please",
    "re", "s", "shall", "she", "should", "so", "some", "t", "tell", "than", "that", "the", "their",
    "them", "then", "there", "these", "they", "this", "those", "to", "up", "us", "ve", "want",
    "was", "we", "were", "what", "when", "where", "which", "who", "whom", "why", "will", "with",
    "would", "you", "your",
];

const STOP_ZH: &[&str] = &[
    "的",
    "了",
    "是",
    "在",
    "有",
    "和",
    "与",
    "或",
    "及",
    "我",
    "你",
    "您",
    "他",
    "她",
    "它",
    "这",
    "那",
    "请",
    "就",
    "都",
    "也",
    "要",
    "想",
    "吗",
    "呢",
    "吧",
    "啊",
    "呀",
    "哦",
    "嗯",
    "把",
    "被",
    "给",
    "对",
    "从",
    "到",
    "会",
    "能",
    "可",
    "不",
    "没",
    "很",
    "还",
    "再",
    "又",
    "什",
    "么",
    "怎",
    "哪",
    "谁",
    "几",
    "个",
    "些",
    "为",
    "以",
    "之",
    "其",
    "而",
    "但",
    "并",
    "让",
    "用",
    "做",
    "去",
    "来",
    "上",
    "下",
    "里",
    "中",
    "后",
    "前",
    "时",
    "得",
    "地",
    "着",
    "过",
    "说",
    "看",
    "好",
    "怎么",
    "怎样",
    "怎么样",
    "怎么办",
    "如何",
    "什么",
    "为什么",
    "为何",
    "为啥",
    "哪里",
    "哪个",
    "哪些",
    "哪儿",
    "多少",
    "是否",
    "是不是",
    "有没有",
    "可以",
    "可不可以",
    "能否",
    "能不能",
    "能够",
    "会不会",
    "我们",
    "你们",
    "他们",
    "它们",
    "咱们",
    "大家",
    "这个",
    "那个",
    "这些",
    "那些",
    "这里",
    "那里",
    "这样",
    "那样",
    "请问",
    "一下",
    "一个",
    "一些",
    "需要",
    "应该",
    "没有",
    "知道",
    "告诉",
    "帮我",
    "帮忙",
    "然后",
    "但是",
    "因为",
    "所以",
    "如果",
    "的话",
    "还是",
    "或者",
    "以及",
    "关于",
    "进行",
    "时候",
    "现在",
    "已经",
    "不要",
    "不会",
    "不能",
    "不是",
    "就是",
    "这么",
    "那么",
    "有些",
    "有人",
    "你好",
    "谢谢",
    "东西",
    "事情",
    "问题",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn surfaces(query: &str) -> Vec<String> {
        units(query).into_iter().map(|unit| unit.surface).collect()
    }

    #[test]
    fn words_that_every_question_has_are_left_out() {
        assert_eq!(surfaces("How do I restart the bot?"), ["restart", "bot"]);
        assert!(surfaces("为什么怎么办？").is_empty());
        assert!(surfaces("what is the").is_empty());
        let asked = surfaces("请问怎么配置机器人的权限");
        assert!(asked.contains(&"权限".to_owned()), "{asked:?}");
        assert!(!asked.contains(&"怎么".to_owned()), "{asked:?}");
    }

    #[test]
    fn a_repeated_word_counts_once_and_long_queries_are_bounded() {
        assert_eq!(surfaces("bot bot Bot"), ["bot"]);
        let long: Vec<String> = (0..5000).map(|number| format!("word{number}")).collect();
        assert_eq!(units(&long.join(" ")).len(), UNITS_MAX);
    }
}
