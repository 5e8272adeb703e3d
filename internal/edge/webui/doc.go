// Package webui serves the page: chats, plans, runs, servers, agents, projects,
// assistants, credit, webhooks, and the sign-in.
//
// The same templates render the whole page (GET /) and its parts (GET /ui/…), so the
// page works without its script, and a part that the script replaces is equal to that
// of a reload. The script in asset/ only sends, follows and replaces. Every write goes
// through the JSON API, which this package does not serve.
//
// Invariants:
//
//   - Text for a confirmation (goals, titles, hosts, paths, arguments) is rendered by
//     display: invisible characters are marked, imitating letters are named, and the
//     text is complete (guarantee I32).
//   - Text of the model is Markdown without HTML and without images. Every link shows
//     its host, and nothing is fetched for it (guarantee I31).
//   - No response allows a script, style or frame of another origin, and there are no
//     inline ones.
//   - A draft past its time is shown as expired, with any stored status.
//   - A tool's result is text. Other content (images, audio, resources) is shown by
//     name and size, and is neither fetched nor rendered (guarantee I31). A tool
//     without a method is shown at least as a write, even if its server declares a read.
//   - An approval shows the complete request and who may give it. Following a link to
//     one changes nothing, and the token that resumes its run is never rendered.
//   - An edit sends unchanged values back exactly, digit by digit. The card of an
//     edited draft shows the changes from the previous revision.
//   - The receipt page shows the content of the downloadable receipt, and whether it
//     verifies. An incomplete one is not judged.
//   - The key of a server or provider is never rendered, nor is the secret of a
//     webhook: the script shows that one once, from the API's response.
//   - The API decides whether a turn may run: the page shows its answer, reason and
//     remedy, and infers nothing.
//   - The palette (Ctrl+K) presses controls that the page has, and confirms nothing. The shortcuts
//     stand in one table (asset/keys.js), by which they are obeyed and listed.
//   - A push is only a hint (guarantee I29): the page shows the data that it requested
//     afterwards. An answer in progress stands in a line of its own, until its message
//     replaces it: its complete blocks are rendered here, as the message will be, and the rest is text. Without the socket everything still arrives.
package webui
