// Package webui owns the page: what a person sees of chats, plans, runs, servers
// and projects, and how they sign in.
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
//   - A server's key is never part of anything rendered here.
package webui
