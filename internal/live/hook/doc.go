// Package hook notifies other systems of the events of an account. A hook is an address that the account gave; each
// message goes out to it with a signature by Standard Webhooks. A webhook (package auth) is the other direction: a
// request that comes in.
//
// Invariants:
//
//   - A message is stored in the transaction of its event. It is therefore sent when, and only when, the event was stored.
//   - A message reaches each hook at least once, or its log says why it did not. A redelivery has the same id, and a
//     new time and signature.
//   - The order of messages is not promised.
//   - A message has ids and no results. Its reader asks the API for more.
//   - Each connection is checked by the guard of package outbound.
package hook
