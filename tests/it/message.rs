//! The life of a message, from what a person writes to what they read.

use crate::stage::Stage;

#[tokio::test(flavor = "multi_thread")]
async fn a_private_question_is_answered_once_as_a_reply_in_its_chat() {
    let stage = Stage::new().await;
    let chat = stage.sim.p2p("ann").chat_id;
    let question = stage.sim.says("ann", &chat, "how do we deploy?").unwrap();
    let answers = stage.answers(&question).await;
    assert_eq!(answers.len(), 1);
    assert_eq!(answers[0].text, "answer to: how do we deploy?");
    assert_eq!(answers[0].chat_id, chat);
    assert_eq!(answers[0].reply_to.as_deref(), Some(question.as_str()));
    stage.verdict(&question, "answered").await;
    assert_eq!(stage.sim.visible(&chat).len(), 2, "the question and one answer");
    stage.model.assert_clean();
}
