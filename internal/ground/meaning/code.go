package meaning

// Codes of JSON-RPC and of the Model Context Protocol that are answered before a tool is called.
const (
	codeParse         = "-32700" // the message is no JSON
	codeInvalid       = "-32600" // it is no request
	codeNoMethod      = "-32601"
	codeInvalidParams = "-32602" // the protocol's answer for a tool that the server does not have, too
	codeHeaders       = "-32020" // the headers do not fit the message
	codeCapability    = "-32021" // the client lacks a capability that the request needs
	codeVersion       = "-32022" // the server does not know the version of the protocol
	codeElicitation   = "-32042" // a person has to open an address first
)

// OfCode returns the meaning of an error of JSON-RPC, by its code, with which a server answers the call of a tool. It is
// refused by a code of which the protocols say that nothing was called. Any other code is unknown: a server answers -32603
// when it failed, at any moment, and libraries answer -32000 to -32019 when they lost a connection or waited too long for a
// server behind them.
func OfCode(code string) Meaning {
	switch code {
	case codeParse, codeInvalid, codeNoMethod, codeInvalidParams, codeHeaders, codeCapability, codeVersion, codeElicitation:
		return Refused
	}
	return Unknown
}
