// Package webui owns the page: what a person sees of chats, plans, runs, servers,
// agents, projects, assistants, credit and webhooks, and how they sign in.
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
//   - What a tool returned is text: what is none (images, audio, resources) is
//     named and sized, and neither fetched nor drawn (guarantee I31). A tool without
//     a method is shown as a write at least, whatever its server says of it.
//   - What an approval would let through is shown whole, as it would be sent, and by
//     whom it may be given; following a link to one changes nothing, and the token
//     by which its run goes on is never rendered.
//   - An edit sends back what nobody touched as it came, digit by digit; the card of a
//     draft that was edited says what changed from the revision before.
//   - A receipt says what the receipt that can be downloaded says, and whether that
//     holds; half of one is not judged.
//   - A key, of a server or of a provider, is never part of anything rendered here,
//     nor is the secret of a webhook: the script shows that one once, as the API
//     told it.
//   - Whether a turn may run is the API's to say: the page shows the answer, its
//     reason and its remedy, and infers nothing.
//   - A push is a hint (guarantee I29): what is shown is what was asked for since,
//     and an answer that is being written is text, in a line of its own, until the
//     message stands in its place. Without the socket everything still arrives.
package webui
