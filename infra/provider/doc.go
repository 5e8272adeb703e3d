// Package provider owns the proof that what we speak is what others speak: the whole
// deployment against an OpenAI-compatible server and a Model Context Protocol server
// that are not ours. It needs Node.js, @copilotkit/aimock and
// @modelcontextprotocol/server-everything (`make provider` installs them outside the
// tree).
package provider
