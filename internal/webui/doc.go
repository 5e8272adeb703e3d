// Package webui owns the page: what a person sees of chats, plans, runs, servers,
// projects, assistants and credit, and how they sign in.
//
// The same templates render the whole page (GET /) and its parts (GET /ui/…),
// so the page works before its script does, and what the script swaps in is
// what a reload would show. The script in asset/ only sends, follows and swaps;
// every write goes through the JSON API, which this package does not serve.
//
// What stays true:
//
//   - Text to be confirmed (goals, titles, hosts, paths, arguments) passes through
//     display: what cannot be seen is written out, what imitates another letter is
//     named, and nothing is cut (guarantee I32).
//   - Text of the model is Markdown without HTML and without images; every link
//     shows the host it leads to and nothing is fetched for it (guarantee I31).
//   - No response lets a script, a style or a frame of another origin in, and none
//     of ours is inline.
//   - A draft whose time is over is shown as expired, whatever is stored.
//   - A key, of a server or of a provider, is never part of anything rendered here.
//   - Whether a turn may run is the API's to say: the page shows the answer, its
//     reason and its remedy, and infers nothing.
//   - A push is a hint (guarantee I29): what is shown is what was asked for since,
//     and an answer that is being written is text, in a line of its own, until the
//     message stands in its place. Without the socket everything still arrives.
package webui
