// Buttons and refresh of the status pages. Without it the pages show everything and refresh by themselves.
"use strict";

const REFRESH_MS = 10000;
const byId = (id) => document.getElementById(id);

document.documentElement.classList.add("scripted");

// The token lives in its input field alone: never in a URL, a cookie or a storage.
async function post(button) {
  if (button.dataset.ask && !window.confirm(button.dataset.ask)) return;
  const headers = { "Content-Type": "application/json" };
  const token = byId("token");
  if (token) {
    if (!token.value.trim()) {
      say("Enter your operator token first.", true);
      token.focus();
      return;
    }
    headers.Authorization = "Bearer " + token.value.trim();
  }
  button.disabled = true;
  try {
    const answer = await fetch(button.dataset.post, { method: "POST", headers, body: "{}" });
    const told = await answer.json();
    say(answer.ok ? button.textContent + ": accepted, in the name of " + told.operator : told.error, !answer.ok);
    if (answer.ok) await refresh();
  } catch (error) {
    say("No answer: " + error.message + ". Try again, or use the command line.", true);
  } finally {
    button.disabled = false;
  }
}

function say(words, bad) {
  const said = byId("said");
  said.textContent = words;
  said.classList.toggle("problem", bad);
}

async function refresh() {
  try {
    const answer = await fetch(location.pathname, { headers: { Accept: "text/html" } });
    if (!answer.ok) throw new Error("answer " + answer.status);
    show(new DOMParser().parseFromString(await answer.text(), "text/html"));
    byId("stale").textContent = "";
  } catch (error) {
    byId("stale").textContent = " · no longer fresh: " + error.message;
  }
}

// Open details and the focus survive a refresh.
function show(fresh) {
  const open = [...document.querySelectorAll("#live details")].map((each) => [each.id, each.open]);
  const focused = byId("live").contains(document.activeElement) ? document.activeElement.id : "";
  byId("live").replaceWith(document.adoptNode(fresh.getElementById("live")));
  byId("as-of").replaceWith(document.adoptNode(fresh.getElementById("as-of")));
  document.title = fresh.title;
  for (const [id, was] of open) if (byId(id)) byId(id).open = was;
  if (focused && byId(focused)) byId(focused).focus();
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("button[data-post]");
  if (button) post(button);
});
setInterval(() => { if (!document.hidden) refresh(); }, REFRESH_MS);
