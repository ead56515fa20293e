// A model that somebody wrote the replies of: OpenAI's chat completions, streamed piece by piece.

import { createServer } from "node:http";
import { once } from "node:events";
import { setTimeout as wait } from "node:timers/promises";

/** Text in pieces of a few characters, `gap` milliseconds between them. */
const pieces = (text, gap) => {
  const cut = text.match(/[\s\S]{1,12}/gu) ?? [];
  return cut.map((content) => ({ gap, delta: { content } }));
};

/** One call of a tool. */
const calling = (name, args) => {
  const call = { index: 0, id: "call_1", type: "function", function: { name, arguments: JSON.stringify(args) } };
  return [{ gap: 0, delta: { tool_calls: [call] } }];
};

/**
 * Starts it. The first reply to a question that holds `words` calls a tool, the next says `text`;
 * every other question is answered at once.
 */
export async function startModel({ words, tool, text, gap }) {
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    const { messages } = JSON.parse(body);
    const question = messages.findLast(({ role }) => role === "user");
    const isAsked = JSON.stringify(question?.content ?? "").includes(words);
    const hasLooked = messages.at(-1).role === "tool";
    const said = !isAsked ? pieces("好的。", 0) : hasLooked ? pieces(text, gap) : calling(tool.name, tool.args);
    response.writeHead(200, { "content-type": "text/event-stream" });
    const chunk = (choice) =>
      response.write(`data: ${JSON.stringify({ id: "c1", object: "chat.completion.chunk", model: "scripted", choices: [choice] })}\n\n`);
    for (const { gap, delta } of said) {
      if (gap > 0) await wait(gap);
      chunk({ index: 0, delta: { role: "assistant", ...delta }, finish_reason: null });
    }
    const finish_reason = isAsked && !hasLooked ? "tool_calls" : "stop";
    chunk({ index: 0, delta: {}, finish_reason });
    response.end("data: [DONE]\n\n");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return { url: `http://127.0.0.1:${server.address().port}/v1`, stop: () => server.close() };
}
