// Package provider tests interoperability: the whole deployment against an independent OpenAI-compatible server and
// an independent Model Context Protocol server. It needs Node.js, @copilotkit/aimock and
// @modelcontextprotocol/server-everything (`make provider` installs them outside the tree).
package provider
