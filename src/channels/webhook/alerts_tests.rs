//! What a group of alerts says, and that nothing in it says more than it may.

use serde_json::json;

use super::*;

fn said(body: &Value) -> String {
    Group::of(body).unwrap().text(Locale::EnUs)
}

fn group(alerts: &Value) -> Value {
    json!({"status": "firing", "groupKey": "{}:{alertname=\"Disk\"}", "alerts": alerts})
}

#[test]
fn members_are_told_as_what_they_are_and_those_that_go_on_first() {
    let body = json!({
        "status": "firing", "groupKey": "k", "groupLabels": {"alertname": "Disk"},
        "externalURL": "http://alerts.example",
        "alerts": [
            {
                "status": "resolved", "labels": {"instance": "a", "job": "node"},
                "annotations": {"summary": "a is full"},
                "startsAt": "2026-01-02T03:04:05Z", "endsAt": "2026-01-02T06:04:05+02:00",
            },
            {
                "status": "firing", "labels": {"instance": "b", "job": "node"},
                "annotations": {"summary": "b is full"}, "startsAt": "2026-01-02T03:09:05.7Z",
                "endsAt": "0001-01-01T00:00:00Z", "generatorURL": "https://p.example/g?a=(1)",
            },
        ],
    });
    let expected = "**Disk**: 1 firing, 1 resolved\n\n\
         **Firing**\n\
         - `instance=b` · b is full · since 2026-01-02 03:09 UTC · \
         [source](https://p.example/g?a=%281%29)\n\n\
         **Resolved**\n\
         - `instance=a` · a is full · 2026-01-02 03:04 UTC to 2026-01-02 04:04 UTC\n\n\
         [Alertmanager](http://alerts.example/)";
    assert_eq!(said(&body), expected);
    let chinese = Group::of(&body).unwrap().text(Locale::ZhCn);
    assert!(chinese.contains("**告警中**\n- `instance=b`"), "{chinese}");
    assert!(chinese.contains("**已恢复**\n- `instance=a`"), "{chinese}");
}

#[test]
fn what_all_members_say_is_said_once() {
    let alert = |device: &str| {
        json!({
            "labels": {"alertname": "Disk", "instance": "a", "device": device},
            "annotations": {"description": "a disk is full"},
        })
    };
    let text = said(&group(&json!([alert("sda"), alert("sdb")])));
    let expected =
        "**Disk**: 2 firing\na disk is full\n\n**Firing**\n- `device=sda`\n- `device=sdb`";
    assert_eq!(text, expected);
    let text = said(&group(&json!([alert("sda")])));
    assert_eq!(text, "**Disk**: 1 firing\na disk is full\n\n**Firing**\n- `instance=a`");
}

#[test]
fn a_group_is_over_when_all_of_it_is() {
    let of = |firing: usize, resolved: usize, status: &str, left_out: u64| {
        let alerts = [vec!["firing"; firing], vec!["resolved"; resolved]].concat();
        let alerts: Vec<Value> = alerts.iter().map(|status| json!({"status": status})).collect();
        let body = json!({
            "groupKey": "k", "status": status, "alerts": alerts, "truncatedAlerts": left_out,
        });
        Group::of(&body).unwrap().is_over()
    };
    assert!(of(0, 2, "resolved", 0) && of(0, 2, "firing", 0) && of(0, 2, "resolved", 5));
    assert!(!of(1, 1, "firing", 0) && !of(1, 1, "resolved", 0) && !of(0, 2, "firing", 5));
    let without = json!({"groupKey": "k", "status": "resolved", "alerts": [{}]});
    assert!(Group::of(&without).unwrap().is_over(), "a member's own word is missing");
    let text = said(&json!({"groupKey": "k", "alerts": [{"status": "resolved"}]}));
    assert!(text.starts_with("**Alerts**: all resolved (1)"), "{text}");
}

#[test]
fn what_is_not_of_alertmanager_is_no_group() {
    for body in [
        json!(null),
        json!([]),
        json!({"title": "a"}),
        json!({"groupKey": "k"}),
        json!({"groupKey": "k", "alerts": {}}),
        json!({"groupKey": "k", "alerts": []}),
        json!({"groupKey": "k", "alerts": [{}, 1]}),
        json!({"groupKey": 1, "alerts": [{}]}),
        json!({"groupKey": "", "alerts": [{}]}),
        json!({"alerts": [{}]}),
    ] {
        assert!(Group::of(&body).is_none(), "{body}");
    }
}

#[test]
fn wrong_types_within_a_group_are_left_out() {
    let odd = [json!(null), json!(1), json!([1]), json!({"a": [1]}), json!("x"), json!(true)];
    for value in odd {
        let alert = json!({
            "status": value, "labels": value, "annotations": value, "startsAt": value,
            "endsAt": value, "generatorURL": value,
        });
        let labels =
            json!({"labels": {"alertname": value, "a": value}, "annotations": {"summary": value}});
        let body = json!({
            "groupKey": "k", "status": value, "groupLabels": value, "commonLabels": value,
            "externalURL": value, "truncatedAlerts": value, "alerts": [alert, labels],
        });
        let text = said(&body);
        assert!(text.contains("2 firing") && text.len() < 200, "{text}");
    }
}

#[test]
fn ten_thousand_alerts_are_counted_and_twenty_listed() {
    let alerts: Vec<Value> = (0..10_000)
        .map(|number| json!({"status": "firing", "labels": {"instance": number.to_string()}}))
        .collect();
    let mut body = group(&json!(alerts));
    body["truncatedAlerts"] = json!(u64::MAX);
    let text = said(&body);
    assert!(text.contains("10000 firing") && text.contains("`instance=19`"), "{text}");
    assert!(!text.contains("`instance=20`") && text.contains("… and"), "{text}");
}

#[test]
fn words_of_any_length_give_a_bounded_text() {
    for letter in ["x", "告", "*", "`", "\n", "<"] {
        let long = letter.repeat(9_000);
        let alert = |number: usize| {
            let labels: Map<String, Value> = (0..30)
                .map(|label| (format!("{label}{long}"), json!(format!("{number}{long}"))))
                .collect();
            json!({
                "labels": labels, "annotations": {"summary": format!("{number}{long}")},
                "generatorURL": format!("http://x.example/{long}"),
            })
        };
        let mut body = group(&json!((0..4).map(alert).collect::<Vec<_>>()));
        body["groupLabels"] = json!({"alertname": long});
        body["externalURL"] = json!(format!("http://x.example/{}", "(".repeat(900)));
        let text = said(&body);
        assert!(text.len() <= TEXT_BYTES_MAX, "{letter}: {}", text.len());
        assert!(text.contains("**Firing**\n- `"), "{text}");
    }
}

#[test]
fn marks_in_somebodys_words_mean_nothing() {
    let alert = |number: u8| {
        json!({
            "labels": {"instance": format!("`{number}` <at user_id=\"all\">all</at>\n# x")},
            "annotations": {"summary": format!("**{number}** [a](http://b) <at id=all></at> a_b _c_")},
            "generatorURL": "javascript:alert(1)",
        })
    };
    let text = said(&group(&json!([alert(1), alert(2)])));
    let line = "- `instance='1' <at user_id=\"all\">all</at> # x` · \
         \\*\\*1\\*\\* \\[a\\](http://b) \\<at id=all>\\</at> a_b \\_c\\_\n";
    assert!(text.contains(line), "{text}");
    assert!(!text.contains("javascript"));
    for (written, shown) in [("# a", "\\# a"), ("- a", "\\- a"), ("a - b", "a - b"), (" > ", "\\>")]
    {
        assert_eq!(sentence(written), shown);
    }
    for bad in ["javascript:alert(1)", "file:///etc", "//x", "x", "", "http://", "lark://x"] {
        assert_eq!(link(bad), None, "{bad}");
    }
    assert_eq!(link("https://x/a b)[c]`|<").unwrap(), "https://x/a%20b%29[c]%60%7C%3C");
}
