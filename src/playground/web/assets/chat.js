// The few things that the page does without the server: keys, quotes, files, scrolling.
(function () {
  "use strict";
  var at = function (target, query) { return target.closest ? target.closest(query) : null; };

  document.addEventListener("keydown", function (event) {
    var box = at(event.target, "textarea[data-enter]");
    // While an input method composes, Enter chooses a word and must not send.
    if (!box || event.key !== "Enter" || event.shiftKey || event.isComposing || event.keyCode === 229) return;
    event.preventDefault();
    if (box.value.trim()) box.form.requestSubmit();
  });

  document.addEventListener("click", function (event) {
    var reply = at(event.target, "[data-reply]");
    if (reply) quote(document.querySelector("form[data-composer]"), reply.dataset.reply, reply.dataset.quote);
    if (at(event.target, "[data-unquote]")) unquote(at(event.target, "form"));
    var example = at(event.target, "[data-example]");
    var box = example && document.querySelector("form[data-composer] textarea");
    if (box) { box.value = example.dataset.example; box.focus(); }
    if (at(event.target, "[data-close]")) document.getElementById("side").replaceChildren();
    document.querySelectorAll("details.menu[open]").forEach(function (menu) {
      if (!menu.contains(event.target)) menu.removeAttribute("open");
    });
  });

  // A panel stays as the reader left it when its card is drawn anew.
  var panels = new Map();
  document.addEventListener("click", function (event) {
    var panel = at(event.target, "details[data-panel] > summary");
    if (panel) panels.set(panel.parentNode.dataset.panel, !panel.parentNode.open);
  });
  document.addEventListener("htmx:afterSwap", function () {
    document.querySelectorAll("details[data-panel]").forEach(function (panel) {
      if (panels.has(panel.dataset.panel)) panel.open = panels.get(panel.dataset.panel);
    });
  });

  function quote(form, id, text) {
    if (!form) return;
    form.querySelector("input[name=parent]").value = id;
    form.querySelector(".quoting").hidden = !id;
    form.querySelector(".quoting span").textContent = text;
    if (id) form.querySelector("textarea").focus();
  }

  document.addEventListener("change", function (event) {
    var input = at(event.target, "input[type=file][data-upload]");
    if (!input || !input.files.length) return;
    var file = input.files[0];
    var form = input.closest("form");
    var parent = form.querySelector("input[name=parent]").value;
    if (file.size > Number(input.dataset.most)) { input.value = ""; toast("", "large"); return; }
    var url = input.dataset.upload + "&name=" + encodeURIComponent(file.name) + "&parent=" + encodeURIComponent(parent);
    input.value = "";
    unquote(form);
    fetch(url, { method: "POST", body: file }).then(function (answer) {
      return answer.text().then(function (html) { if (html) toast(html); });
    }).catch(function () { toast(""); });
  });

  // Back to what the form answers by itself: nothing, or the first message of its thread.
  function unquote(form) {
    form.querySelector("input[name=parent]").value = form.dataset.parent;
    form.querySelector(".quoting").hidden = true;
  }

  function toast(html, name) {
    var box = document.getElementById("toasts");
    // The server escapes what it sends; scripts in it would be refused by the page's policy.
    if (html) box.insertAdjacentHTML("beforeend", html);
    else box.append(document.getElementById(name || "lost").content.cloneNode(true));
  }

  document.addEventListener("htmx:afterRequest", function (event) {
    var form = event.detail.elt;
    if (!event.detail.successful || !form.matches) return;
    if (form.matches("form.composer")) {
      form.querySelector("textarea").value = "";
      form.querySelectorAll("input[name=mention]").forEach(function (box) { box.checked = false; });
      unquote(form);
      // Whoever says something wants to see it, and the answer.
      low.clear();
      down();
    }
    var menu = form.closest("details.menu");
    if (menu) menu.removeAttribute("open");
  });
  document.addEventListener("htmx:sendError", function () { toast(""); });
  document.addEventListener("animationend", function (event) {
    if (event.animationName === "toast") event.target.remove();
  });

  // Stay at the newest message while the reader is there. Only what the reader scrolls tells where
  // that is: a part that is put in anew scrolls by itself for a moment.
  var low = new Map();
  var swapped = 0;
  var isLow = function (box) { return box.scrollHeight - box.scrollTop - box.clientHeight < 80; };
  document.addEventListener("scroll", function (event) {
    var box = event.target;
    if (!box.matches || !box.matches("[data-scroll]") || performance.now() - swapped < 400) return;
    low.set(box.id, isLow(box));
  }, true);
  document.addEventListener("htmx:beforeSwap", function () { swapped = performance.now(); });
  document.addEventListener("htmx:afterSettle", down);
  document.addEventListener("load", function (event) { if (event.target.tagName === "IMG") down(); }, true);
  function down() {
    document.querySelectorAll("[data-scroll]").forEach(function (box) {
      if (low.get(box.id) !== false) box.scrollTop = box.scrollHeight;
    });
  }
  document.addEventListener("DOMContentLoaded", down);
})();
