//! The index in memory: which recipes have which words, and which match a query best.

use std::collections::BTreeMap;
use std::sync::Arc;

use tantivy::collector::TopDocs;
use tantivy::query::{BooleanQuery, BoostQuery, EnableScoring, Occur, Query, Scorer, TermQuery};
use tantivy::schema::{
    Field, IndexRecordOption, STORED, STRING, Schema, TextFieldIndexing, TextOptions, Value,
};
use tantivy::{
    DocAddress, DocId, Index, IndexReader, IndexWriter, ReloadPolicy, Searcher, TantivyDocument,
    TantivyError, Term,
};

use super::catalog::Card;
use super::query::Unit;
use super::scan::{Key, Stamp};
use super::words::{Cut, pairs, words};

/// The memory that a writer collects words in, in bytes; the least that the index accepts.
const WRITER_BYTES: usize = 15_000_000;
/// How many of the best matches are judged.
const CANDIDATES_MAX: usize = 50;
/// A hit has at least this share of the query's words, by weight: more than one of three equally
/// rare words, which may be there by chance.
const SHARE_MIN: f32 = 0.35;
/// A hit has at least this part of the best hit's score.
const SCORE_PART_MIN: f32 = 0.2;

/// A recipe that matches.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Match {
    /// Which.
    pub(super) key: Key,
    /// How well; higher is better.
    pub(super) score: f32,
}

#[derive(Clone, Copy)]
struct Fields {
    key: Field,
    title: Field,
    trigger: Field,
    tags: Field,
    body: Field,
    pairs: Field,
}

impl Fields {
    /// The fields that hold words, with what a match in them is worth.
    fn words(self) -> [(Field, f32); 4] {
        [(self.title, 3.0), (self.trigger, 3.0), (self.tags, 2.0), (self.body, 1.0)]
    }
}

/// What a match of a word's pairs is worth.
const PAIRS_BOOST: f32 = 0.3;

/// The index over the recipes that searches find.
pub(super) struct SearchIndex {
    index: Index,
    reader: IndexReader,
    fields: Fields,
    indexed: BTreeMap<Key, Stamp>,
}

impl SearchIndex {
    /// An empty index.
    pub(super) fn new() -> Result<Self, TantivyError> {
        let mut schema = Schema::builder();
        let text = |cut: &str| {
            let indexing = TextFieldIndexing::default()
                .set_tokenizer(cut)
                .set_index_option(IndexRecordOption::WithFreqs);
            TextOptions::default().set_indexing_options(indexing)
        };
        let fields = Fields {
            key: schema.add_text_field("key", STRING | STORED),
            title: schema.add_text_field("title", text("words")),
            trigger: schema.add_text_field("trigger", text("words")),
            tags: schema.add_text_field("tags", text("words")),
            body: schema.add_text_field("body", text("words")),
            pairs: schema.add_text_field("pairs", text("pairs")),
        };
        let index = Index::create_in_ram(schema.build());
        let terms = |text: &str| words(text).into_iter().map(|word| word.term).collect();
        index.tokenizers().register("words", Cut(terms));
        index.tokenizers().register("pairs", Cut(pairs));
        let reader = index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into()?;
        Ok(Self { index, reader, fields, indexed: BTreeMap::new() })
    }

    /// The index made to say what the files say. Costs nothing if nothing changed.
    pub(super) fn following(
        mut self,
        cards: &BTreeMap<Key, Arc<Card>>,
    ) -> Result<Self, TantivyError> {
        let wanted = || cards.iter().filter(|(_, card)| card.is_searched);
        let is_current = |key: &Key, card: &Card| {
            self.indexed.get(key).is_some_and(|stamp| *stamp == card.stamp)
        };
        let added: Vec<_> = wanted().filter(|(key, card)| !is_current(key, card)).collect();
        let removed: Vec<Key> = self
            .indexed
            .keys()
            .filter(|key| !cards.get(*key).is_some_and(|card| card.is_searched))
            .cloned()
            .collect();
        if added.is_empty() && removed.is_empty() {
            return Ok(self);
        }
        let mut writer: IndexWriter = self.index.writer_with_num_threads(1, WRITER_BYTES)?;
        for key in removed.iter().chain(added.iter().map(|(key, _)| *key)) {
            writer.delete_term(Term::from_field_text(self.fields.key, &key_text(key)));
        }
        for (key, card) in &added {
            // A file that vanished since the check is dealt with by the next one.
            if let Some(document) = self.document(key, card) {
                writer.add_document(document)?;
            }
        }
        writer.commit()?;
        writer.wait_merging_threads()?;
        self.reader.reload()?;
        self.indexed = wanted().map(|(key, card)| (key.clone(), card.stamp)).collect();
        Ok(self)
    }

    fn document(&self, key: &Key, card: &Card) -> Option<TantivyDocument> {
        let page = card.page()?;
        let fields = self.fields;
        let trigger = page.trigger.join("\n");
        let tags = format!("{}\n{}", page.tags.join("\n"), card.id);
        let mut document = TantivyDocument::default();
        document.add_text(fields.key, key_text(key));
        for (field, text) in [
            (fields.title, page.title.as_str()),
            (fields.trigger, &trigger),
            (fields.tags, &tags),
            (fields.body, &page.body),
        ] {
            document.add_text(field, text);
            document.add_text(fields.pairs, text);
        }
        Some(document)
    }

    /// What searches need; does not change when the index goes on.
    pub(super) fn snapshot(&self) -> Snapshot {
        Snapshot { searcher: self.reader.searcher(), fields: self.fields }
    }
}

fn key_text((number, file): &Key) -> String {
    format!("{number}/{file}")
}

fn key_of(text: &str) -> Option<Key> {
    let (number, file) = text.split_once('/')?;
    Some((number.parse().ok()?, file.to_owned()))
}

/// One state of the index.
pub(super) struct Snapshot {
    searcher: Searcher,
    fields: Fields,
}

/// A unit of the query as the index knows it.
struct Asked {
    query: Box<dyn Query>,
    weight: f32,
}

impl Snapshot {
    /// The recipes that match the units best, best first, at most `limit`, and the weight of each
    /// unit.
    pub(super) fn search(
        &self,
        units: &[Unit],
        limit: usize,
    ) -> Result<(Vec<Match>, Vec<f32>), TantivyError> {
        let asked: Vec<Asked> =
            units.iter().map(|unit| self.ask(unit)).collect::<Result<_, _>>()?;
        let any = asked.iter().map(|asked| (Occur::Should, asked.query.box_clone()));
        let any = BooleanQuery::new(any.collect());
        let best = TopDocs::with_limit(CANDIDATES_MAX).order_by_score();
        let found = self.searcher.search(&any, &best)?;
        let shares = self.shares(&asked, &found)?;
        let mut judged: Vec<(f32, DocAddress)> = found
            .into_iter()
            .zip(shares)
            .filter(|(_, share)| *share >= SHARE_MIN)
            .map(|((score, address), share)| (score * share, address))
            .collect();
        judged.sort_by(|left, right| right.0.total_cmp(&left.0).then(left.1.cmp(&right.1)));
        let least = judged.first().map_or(0.0, |(best, _)| best * SCORE_PART_MIN);
        let mut matches = Vec::new();
        for (score, address) in judged.into_iter().take(limit) {
            if score >= least
                && let Some(key) = self.key(address)?
            {
                matches.push(Match { key, score });
            }
        }
        Ok((matches, asked.iter().map(|asked| asked.weight).collect()))
    }

    fn key(&self, address: DocAddress) -> Result<Option<Key>, TantivyError> {
        let document: TantivyDocument = self.searcher.doc(address)?;
        let text = document.get_first(self.fields.key);
        Ok(text.and_then(|text| text.as_str()).and_then(key_of))
    }

    fn ask(&self, unit: &Unit) -> Result<Asked, TantivyError> {
        let mut ways: Vec<(Occur, Box<dyn Query>)> = Vec::new();
        let mut documents = 0;
        for (field, boost) in self.fields.words() {
            if let Some(word) = &unit.term {
                let term = Term::from_field_text(field, word);
                documents = documents.max(self.searcher.doc_freq(&term)?);
                ways.push((Occur::Should, boosted(one(term), boost)));
            }
        }
        let terms: Vec<Term> =
            unit.pairs.iter().map(|pair| Term::from_field_text(self.fields.pairs, pair)).collect();
        let mut with_pairs = None;
        for term in &terms {
            let count = self.searcher.doc_freq(term)?;
            with_pairs = Some(with_pairs.map_or(count, |least: u64| least.min(count)));
        }
        documents = documents.max(with_pairs.unwrap_or(0));
        if !terms.is_empty() {
            let all = terms.into_iter().map(|term| (Occur::Must, one(term)));
            let all: Box<dyn Query> = Box::new(BooleanQuery::new(all.collect()));
            ways.push((Occur::Should, boosted(all, PAIRS_BOOST)));
        }
        Ok(Asked {
            query: Box::new(BooleanQuery::new(ways)),
            weight: rarity(documents, self.searcher.num_docs()),
        })
    }

    /// For every found document: which part of the query it has, by weight.
    fn shares(
        &self,
        asked: &[Asked],
        found: &[(f32, DocAddress)],
    ) -> Result<Vec<f32>, TantivyError> {
        let total: f32 = asked.iter().map(|asked| asked.weight).sum();
        let mut order: Vec<(DocAddress, usize)> =
            found.iter().enumerate().map(|(index, (_, address))| (*address, index)).collect();
        order.sort_unstable();
        let mut shares = vec![0.0; found.len()];
        for asked in asked {
            for index in self.having(asked.query.as_ref(), &order)? {
                if let Some(share) = shares.get_mut(index) {
                    *share += asked.weight / total;
                }
            }
        }
        Ok(shares)
    }

    /// The numbers of those documents that match; `order` is sorted by address.
    fn having(
        &self,
        query: &dyn Query,
        order: &[(DocAddress, usize)],
    ) -> Result<Vec<usize>, TantivyError> {
        let mut having = Vec::new();
        let weight = query.weight(EnableScoring::disabled_from_searcher(&self.searcher))?;
        for (ordinal, reader) in (0_u32..).zip(self.searcher.segment_readers()) {
            let mut matching = weight.scorer(reader, 1.0)?;
            let here = order.iter().filter(|(a, _)| a.segment_ord == ordinal);
            let had = here.filter(|(address, _)| has(matching.as_mut(), address.doc_id));
            having.extend(had.map(|(_, index)| *index));
        }
        Ok(having)
    }
}

/// Whether the matches have the document; asked in rising order.
fn has(matching: &mut dyn Scorer, document: DocId) -> bool {
    if matching.doc() < document {
        matching.seek(document);
    }
    matching.doc() == document
}

fn one(term: Term) -> Box<dyn Query> {
    Box::new(TermQuery::new(term, IndexRecordOption::WithFreqs))
}

fn boosted(query: Box<dyn Query>, boost: f32) -> Box<dyn Query> {
    Box::new(BoostQuery::new(query, boost))
}

/// What a word is worth that `documents` of `all` have. A word that none has counts like one that
/// a single recipe has: a question may use words of its own.
fn rarity(documents: u64, all: u64) -> f32 {
    let count = |number: u64| f32::from(u16::try_from(number).unwrap_or(u16::MAX));
    let documents = count(documents.max(1));
    let without = (count(all) - documents).max(0.0);
    (1.0 + (without + 0.5) / (documents + 0.5)).ln()
}
