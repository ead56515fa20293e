//! The token of an app: fetched once, renewed beside the calls, repeated once when refused.

use super::*;

#[tokio::test]
async fn fifty_parallel_sends_fetch_one_token() {
    let platform = Platform::start().await;
    let api = platform.api(&testing::clock());
    let sends = join_all((0..50).map(|number| create_in(&api, number))).await;
    assert!(sends.iter().all(Result::is_ok));
    assert_eq!(platform.count(TOKEN_CALL), 1);
    assert_eq!(platform.count(CREATE), 50);
}

#[tokio::test]
async fn fifty_parallel_sends_share_one_refused_token_fetch() {
    let platform = Platform::start().await;
    platform.on(TOKEN_CALL, 400, &json!({"code": 10015, "msg": "wrong secret"}));
    let api = platform.api(&testing::clock());
    let sends = join_all((0..50).map(|number| create_in(&api, number))).await;
    assert!(sends.iter().all(Result::is_err));
    assert_eq!(platform.count(TOKEN_CALL), 1);
    let error = sends.into_iter().find_map(Result::err).unwrap();
    assert_eq!(error.disposition(), Disposition::Fatal);
    assert_eq!(error.origin(), Origin::Internal);
    assert_eq!(error.certainty(), Certainty::NotSent);
}

fn tokens_used(platform: &Platform) -> Vec<String> {
    let seen = platform.seen().into_iter().map(|seen| seen.token);
    seen.filter(|token| !token.is_empty()).collect()
}

const fn minutes(minutes: u64) -> Duration {
    Duration::from_secs(minutes * 60)
}

#[tokio::test]
async fn a_token_is_renewed_beside_the_calls_when_less_than_thirty_minutes_remain() {
    let platform = Platform::start().await;
    let clock = testing::clock();
    let api = platform.api(&clock);
    create(&api).await.unwrap();
    clock.advance(minutes(90));
    create(&api).await.unwrap();
    assert_eq!(platform.count(TOKEN_CALL), 1);
    clock.advance(Duration::from_millis(1));
    create(&api).await.unwrap();
    until(|| platform.count(TOKEN_CALL) == 2).await;
    until(|| api.tokens.present().is_some_and(|(token, _)| token.expose() == "t-2")).await;
    create(&api).await.unwrap();
    let expected = ["Bearer t-1", "Bearer t-1", "Bearer t-1", "Bearer t-2"];
    assert_eq!(tokens_used(&platform), expected);
    assert_eq!(platform.count(TOKEN_CALL), 2);
}

#[tokio::test]
async fn a_slow_renewal_holds_no_call_up_while_the_old_token_is_good() {
    let platform = Platform::start().await;
    let clock = testing::clock();
    let api = platform.api(&clock);
    create(&api).await.unwrap();
    clock.advance(minutes(100));
    platform.raw(TOKEN_CALL, 0, Vec::new(), String::new());
    for number in 0..20 {
        create_in(&api, number).await.unwrap();
    }
    until(|| platform.count(TOKEN_CALL) == 2).await;
    assert!(tokens_used(&platform).iter().all(|token| token == "Bearer t-1"));
    assert_eq!(platform.count(TOKEN_CALL), 2, "one asks for all");
}

#[tokio::test]
async fn a_token_in_its_last_minutes_is_not_used_any_more() {
    let platform = Platform::start().await;
    let clock = testing::clock();
    let api = platform.api(&clock);
    create(&api).await.unwrap();
    clock.advance(minutes(117) + Duration::from_millis(1));
    create(&api).await.unwrap();
    assert_eq!(tokens_used(&platform), ["Bearer t-1", "Bearer t-2"]);
}

#[tokio::test]
async fn while_renewals_fail_the_old_token_goes_on_until_its_end() {
    let platform = Platform::start().await;
    let clock = testing::clock();
    let api = platform.api(&clock);
    create(&api).await.unwrap();
    for (minute, tokens) in [(100, 2), (110, 3), (118, 4)] {
        platform.on(TOKEN_CALL, 500, &json!({}));
        clock.set(Timestamp::from_millis(testing::NOW_MS).after(minutes(minute)));
        create(&api).await.unwrap();
        create(&api).await.unwrap();
        until(|| platform.count(TOKEN_CALL) == tokens).await;
        until(|| !api.tokens.is_renewing()).await;
    }
    assert!(tokens_used(&platform).iter().all(|token| token == "Bearer t-1"));
    clock.set(Timestamp::from_millis(testing::NOW_MS).after(minutes(120)));
    platform.on(TOKEN_CALL, 500, &json!({}));
    let error = create(&api).await.unwrap_err();
    assert_eq!(error.endpoint(), Endpoint::TenantToken);
    assert_eq!(create(&api).await.unwrap().as_str(), "om_new");
}

#[tokio::test]
async fn an_invalid_token_is_renewed_once_and_the_call_repeated_once() {
    for code in [99_991_663, 99_991_664, 99_991_665, 99_991_671] {
        let platform = Platform::start().await;
        let api = platform.api(&testing::clock());
        platform.on(CREATE, 400, &json!({"code": code, "msg": "invalid"}));
        assert_eq!(create(&api).await.unwrap().as_str(), "om_new");
        assert_eq!(platform.count(TOKEN_CALL), 2, "{code}");
        assert_eq!(platform.count(CREATE), 2, "{code}");
        for _ in 0..5 {
            platform.on(CREATE, 400, &json!({"code": code, "msg": "invalid"}));
        }
        let error = create(&api).await.unwrap_err();
        assert_eq!(error.code(), Some(code));
        assert_eq!(error.disposition(), Disposition::Fatal);
        assert_eq!(platform.count(TOKEN_CALL), 3, "{code}");
        assert_eq!(platform.count(CREATE), 4, "{code}");
    }
}
