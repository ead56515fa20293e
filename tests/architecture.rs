//! The house rules that no compiler checks: who may import whom, how long files are, which words
//! stand where. The tables below are the rules; the list of exceptions is empty and stays so.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "a test may fail loudly"
)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use syn::visit::Visit;

/// Which top modules each top module may import. A channel counts as a module of its own.
const IMPORTS: [(&str, &str); 24] = [
    ("base", ""),
    ("telemetry", "base"),
    ("task", "base telemetry"),
    ("net", "base telemetry"),
    ("envelope", "base"),
    ("bots", "base telemetry envelope"),
    ("store", "base task telemetry envelope"),
    ("llm", "base task telemetry net"),
    // The Knowledge port stands in the envelope, so that tools need not know who implements it.
    ("knowledge", "base task telemetry net envelope"),
    ("tools", "base task telemetry net envelope"),
    ("routing", "base telemetry envelope bots llm"),
    ("agent", "base task telemetry envelope llm tools"),
    ("gateway", "base task telemetry envelope bots store routing agent llm tools"),
    ("channels::lark", "base task telemetry net envelope"),
    ("channels::terminal", "base task telemetry net envelope"),
    ("channels::webhook", "base task telemetry net envelope"),
    ("channels", ""),
    ("scheduler", "base task telemetry envelope bots store"),
    ("playground", "base task telemetry"),
    ("admin", "base task telemetry envelope store bots"),
    // The checks of a bot file need the names of the presets, those of the ways out what a proxy
    // and a certificate are.
    ("config", "base telemetry net bots agent"),
    (
        "app",
        "base telemetry task net envelope bots store llm knowledge tools routing agent gateway scheduler \
         channels::lark channels::terminal channels::webhook admin config",
    ),
    ("cli", "app config base telemetry net playground"),
    ("main", "cli"),
];

/// Files longer than this are split, tests left out.
const FILE_LINES_MAX: usize = 600;
/// Files longer than this begin with a module doc.
const DOC_FROM_LINES: usize = 80;

/// A word and the modules in which it may stand outside of comments.
const WORDS: [(&str, &[&str]); 8] = [
    // The client is made by `net` alone; these hold one, or read the errors of the model library.
    (
        "reqwest::",
        &[
            "net",
            "channels/lark/api",
            "channels/lark/bot",
            "channels/lark/testing",
            "llm",
            "playground",
        ],
    ),
    // Whoever sets a bot up has to be told of the console and of the providers by name.
    ("feishu", &["channels/lark", "playground", "config", "bots", "cli/init"]),
    (
        "lark",
        &[
            "channels",
            "channels/lark",
            "playground",
            "config",
            "bots",
            "envelope",
            "agent/preset",
            // The prefixes and the default preset belong to this channel by name.
            "routing",
            "store/conformance",
            "app",
            "cli",
        ],
    ),
    ("openai", &["llm", "config", "app/models", "cli/init", "cli/demo"]),
    ("anthropic", &["llm", "config", "app/models", "cli/init"]),
    ("gemini", &["llm", "config", "app/models", "cli/init"]),
    ("sled::", &["store", "app"]),
    ("genai::", &["llm"]),
];

struct Source {
    /// `gateway/flow` for `src/gateway/flow.rs`.
    name: String,
    text: String,
}

fn sources() -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    collect(&root, &mut files);
    files.sort();
    files
        .into_iter()
        .map(|file| {
            let relative = file.strip_prefix(&root).unwrap().with_extension("");
            Source {
                name: relative.to_str().unwrap().to_owned(),
                text: fs::read_to_string(&file).unwrap(),
            }
        })
        .filter(|source| !source.name.ends_with("_tests"))
        .collect()
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

/// `channels::lark` for files of a channel, else the first segment.
fn top_module(segments: &[&str]) -> String {
    match segments {
        ["channels", channel, ..] => format!("channels::{channel}"),
        [top, ..] => (*top).to_owned(),
        [] => String::new(),
    }
}

/// Collects what `crate::…` and `super::…` paths lead to.
struct Imports<'a> {
    module: Vec<&'a str>,
    found: Vec<String>,
}

impl Imports<'_> {
    fn note(&mut self, segments: &[String]) {
        let supers = segments.iter().take_while(|segment| *segment == "super").count();
        let from_root: Vec<String> = match segments.first().map(String::as_str) {
            Some("crate") => segments[1..].to_vec(),
            Some("super") if supers <= self.module.len() => {
                let base = &self.module[..self.module.len() - supers];
                let base = base.iter().map(|segment| (*segment).to_owned());
                base.chain(segments[supers..].iter().cloned()).collect()
            }
            _ => return,
        };
        let from_root: Vec<&str> = from_root.iter().map(String::as_str).collect();
        self.found.push(top_module(&from_root));
    }

    fn note_tree(&mut self, prefix: &[String], tree: &syn::UseTree) {
        let extended = |name: &syn::Ident| {
            let mut path = prefix.to_vec();
            path.push(name.to_string());
            path
        };
        match tree {
            syn::UseTree::Path(path) => self.note_tree(&extended(&path.ident), &path.tree),
            syn::UseTree::Name(name) => self.note(&extended(&name.ident)),
            syn::UseTree::Rename(rename) => self.note(&extended(&rename.ident)),
            syn::UseTree::Glob(_) => self.note(prefix),
            syn::UseTree::Group(group) => {
                for tree in &group.items {
                    self.note_tree(prefix, tree);
                }
            }
        }
    }
}

fn is_test_only(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && attribute
                .meta
                .require_list()
                .is_ok_and(|list| list.tokens.to_string().split(' ').any(|token| token == "test"))
    })
}

impl<'ast> Visit<'ast> for Imports<'_> {
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if !is_test_only(&item.attrs) {
            syn::visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        if !is_test_only(&item.attrs) {
            self.note_tree(&[], &item.tree);
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let segments: Vec<String> =
            path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        self.note(&segments);
        syn::visit::visit_path(self, path);
    }
}

/// The text without comments and without test modules at its end.
fn production(text: &str) -> String {
    let body = text.split("\n#[cfg(test)]\n").next().unwrap_or(text);
    let lines = body.lines().map(|line| match line.find("//") {
        // A `//` inside of a literal (an address) is no comment.
        Some(at) if !line[..at].ends_with(':') => &line[..at],
        _ => line,
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn imports_only_go_where_the_table_says() {
    let table: BTreeMap<&str, Vec<&str>> =
        IMPORTS.iter().map(|(module, may)| (*module, may.split_whitespace().collect())).collect();
    let mut faults = Vec::new();
    for source in sources() {
        let module: Vec<&str> =
            source.name.split('/').filter(|segment| *segment != "lib").collect();
        if module.is_empty() {
            continue;
        }
        let own = top_module(&module);
        let Some(may) = table.get(own.as_str()) else {
            faults.push(format!("{}: `{own}` has no row in the table", source.name));
            continue;
        };
        let mut imports = Imports { module, found: Vec::new() };
        imports.visit_file(&syn::parse_file(&source.text).unwrap());
        for found in imports.found {
            let is_own = found == own || found.is_empty() || own.starts_with(&format!("{found}::"));
            if !is_own && table.contains_key(found.as_str()) && !may.contains(&found.as_str()) {
                faults.push(format!("{}: imports `{found}`", source.name));
            }
        }
    }
    faults.sort();
    faults.dedup();
    assert!(faults.is_empty(), "{faults:#?}");
}

/// The names that the log gives to what every line has; an event's own would stand beside them.
const LOG_NAMES: [&str; 8] =
    ["message", "event", "timestamp", "level", "target", "fields", "span", "spans"];

#[test]
fn no_event_has_a_field_by_a_name_of_the_log_itself() {
    let mut faults = Vec::new();
    let mut fields = 0;
    for source in sources() {
        if source.name != "telemetry/event" {
            continue;
        }
        for item in syn::parse_file(&source.text).unwrap().items {
            let syn::Item::Enum(events) = item else { continue };
            for field in events.variants.iter().flat_map(|event| &event.fields) {
                let name = field.ident.as_ref().unwrap().to_string();
                fields += 1;
                if LOG_NAMES.contains(&name.as_str()) {
                    faults.push(format!("an event has a field named `{name}`"));
                }
            }
        }
    }
    assert!(fields > 50, "the events are not found: {fields}");
    assert_eq!(faults, Vec::<String>::new());
}

#[test]
fn files_are_short_and_long_ones_say_what_they_are() {
    let mut faults = Vec::new();
    for source in sources() {
        let body = source.text.split("\n#[cfg(test)]\n").next().unwrap_or_default();
        let lines = body.lines().count();
        if lines > FILE_LINES_MAX {
            faults.push(format!("{}: {lines} lines", source.name));
        }
        if lines > DOC_FROM_LINES && !source.text.starts_with("//!") {
            faults.push(format!("{}: no module doc", source.name));
        }
        if source.name.ends_with("/mod") {
            faults.push(format!("{}: a parent file has the name of its module", source.name));
        }
    }
    assert!(faults.is_empty(), "{faults:#?}");
}

#[test]
fn words_stand_only_where_they_belong() {
    let mut faults = Vec::new();
    for source in sources() {
        let text = production(&source.text).to_lowercase().replace("larkspur", "");
        for (word, places) in WORDS {
            let is_home = places.iter().any(|place| {
                source.name == *place || source.name.starts_with(&format!("{place}/"))
            });
            if !is_home && source.name != "lib" && text.contains(word) {
                faults.push(format!("{}: `{word}`", source.name));
            }
        }
    }
    assert!(faults.is_empty(), "{faults:#?}");
}

#[test]
fn nothing_is_switched_off() {
    let mut faults = Vec::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    collect(&root.join("src"), &mut files);
    collect(&root.join("tests"), &mut files);
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        // The pieces are joined here, so that this file does not find itself.
        for banned in [["#[", "ignore"], ["#[", "allow("], ["#![", "allow("], ["should_", "panic"]]
        {
            if text.contains(&banned.concat()) {
                faults.push(format!("{}: {}", file.display(), banned.concat()));
            }
        }
    }
    assert!(faults.is_empty(), "{faults:#?}");
}
