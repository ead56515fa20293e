//! Where the long connection goes to.

use reqwest::Method;
use serde_json::{Value, json};

use super::{Call, Endpoint, LarkApi};
use crate::channels::lark::api::ApiError;

impl LarkApi {
    /// Asks for an address to connect to, which is good for one connection. The app's secret is
    /// in the request itself: no token is needed.
    pub(in crate::channels::lark) async fn link_address(&self) -> Result<Value, ApiError> {
        let body = json!({ "AppID": self.app.app_id, "AppSecret": self.app.app_secret.expose() });
        let call = Call {
            endpoint: Endpoint::LinkAddress,
            method: Method::POST,
            path: &["callback", "ws", "endpoint"],
            query: &[],
            body: Some(body),
        };
        self.transport.exchange(&call, None).await
    }

    /// Gives up on answers earlier.
    #[cfg(test)]
    pub(in crate::channels::lark) fn hurry(&mut self, timeout: std::time::Duration) {
        self.transport.timeout = timeout;
    }
}
