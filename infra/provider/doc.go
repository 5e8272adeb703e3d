// Package provider tests interoperability: the whole deployment against an independent OpenAI-compatible server, an
// independent Model Context Protocol server, and a service of others. It needs Node.js, @copilotkit/aimock and
// @modelcontextprotocol/server-everything (`make provider` installs them outside the tree), and PowerDNS where that is
// installed.
package provider
