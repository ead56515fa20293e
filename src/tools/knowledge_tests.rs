//! The tools over a knowledge base of two recipes.

use tokio_util::sync::CancellationToken;

use super::*;
use crate::base::{SessionKey, Timestamp, UserId};
use crate::tools::coerce;

struct Shelf;

#[async_trait]
impl Knowledge for Shelf {
    async fn search(&self, query: &str, limit: usize) -> Result<Vec<Hit>, KnowledgeError> {
        let hit = |id: &str| Hit {
            id: id.to_owned(),
            title: format!("About \"{query}\""),
            excerpt: "Do this,\nthen that.".to_owned(),
            source: format!("{id}.md"),
            score: 1.0,
        };
        match query {
            "broken" => Err(KnowledgeError::Index("/secret/path".to_owned())),
            "nothing" => Ok(Vec::new()),
            "slow" => std::future::pending().await,
            _ => Ok(["one", "two"].map(hit).into_iter().take(limit).collect()),
        }
    }

    async fn get(&self, id: &str) -> Result<Option<Recipe>, KnowledgeError> {
        Ok((id == "one").then(|| Recipe {
            id: "one".to_owned(),
            title: "One".to_owned(),
            kind: "rule".to_owned(),
            status: "active".to_owned(),
            tags: vec!["a".to_owned(), "b".to_owned()],
            body: "The body. ".repeat(30),
            source: "one.md".to_owned(),
            updated_at: Timestamp::from_millis(0),
        }))
    }

    async fn catalogue(&self) -> Result<Vec<crate::envelope::RecipeMark>, KnowledgeError> {
        Ok(Vec::new())
    }

    async fn changes(&self, _since: Timestamp) -> Result<Vec<Recipe>, KnowledgeError> {
        Ok(Vec::new())
    }
}

fn context(output_chars_max: usize) -> ToolContext {
    ToolContext {
        session: SessionKey::new("s"),
        sender: UserId::new("u"),
        cancel: CancellationToken::new(),
        output_chars_max,
    }
}

async fn call(tool: &dyn Tool, arguments: Value, chars: usize) -> Result<ToolOutput, ToolError> {
    let arguments = coerce(tool, &arguments)?;
    tool.execute(&arguments, &context(chars)).await
}

#[tokio::test]
async fn a_search_gives_json_and_names_its_sources() {
    let tool = SearchKnowledge::new(Arc::new(Shelf));
    let output = call(&tool, json!({ "keyword": "deploy" }), 4000).await;
    let output = output.unwrap();
    let read: Value = serde_json::from_str(&output.text).unwrap();
    assert_eq!(read["hits"][1]["id"], "two");
    assert_eq!(read["hits"][0]["title"], "About \"deploy\"");
    assert_eq!(output.sources, ["one", "one.md", "two", "two.md"]);
    assert!(output.is_news);
}

#[tokio::test]
async fn a_tight_limit_leaves_out_hits_and_keeps_the_json_whole() {
    let tool = SearchKnowledge::new(Arc::new(Shelf));
    let output = call(&tool, json!({ "query": "deploy" }), 110).await;
    let output = output.unwrap();
    let read: Value = serde_json::from_str(&output.text).unwrap();
    assert_eq!(read["hits"].as_array().unwrap().len(), 1);
    assert_eq!(output.sources, ["one", "one.md"]);
}

#[tokio::test]
async fn nothing_found_is_an_empty_list_and_no_news() {
    let tool = SearchKnowledge::new(Arc::new(Shelf));
    let output = call(&tool, json!({ "query": "nothing" }), 4000).await;
    let output = output.unwrap();
    assert_eq!(output.text, r#"{"hits":[]}"#);
    assert!(!output.is_news);
}

#[tokio::test]
async fn failures_are_told_without_internals_and_a_stopped_run_ends_the_search() {
    let tool = SearchKnowledge::new(Arc::new(Shelf));
    let error = call(&tool, json!({ "query": "broken" }), 4000).await;
    let error = error.unwrap_err();
    assert_eq!(error.code, ToolErrorCode::Failed);
    assert!(!error.text.contains("/secret"), "{}", error.text);
    let stopped = context(4000);
    stopped.cancel.cancel();
    let error = tool.execute(&json!({ "query": "slow" }), &stopped).await;
    assert_eq!(error.unwrap_err().code, ToolErrorCode::Cancelled);
}

#[tokio::test]
async fn a_recipe_is_read_in_full_and_cut_with_a_mark() {
    let tool = GetRecipe::new(Arc::new(Shelf));
    let output = call(&tool, json!({ "recipeId": "one" }), 4000).await;
    let output = output.unwrap();
    assert!(output.text.starts_with("id: one\ntitle: One\n"));
    assert!(output.text.ends_with("The body. "));
    let cut = call(&tool, json!({ "id": "one" }), 200).await.unwrap();
    assert_eq!(cut.text.chars().count(), 200);
    assert!(cut.text.ends_with("left out]"), "{}", cut.text);
    let none = call(&tool, json!({ "id": "three" }), 4000).await.unwrap();
    assert!(!none.is_news && none.text.contains("`three`"));
}
