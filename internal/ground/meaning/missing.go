package meaning

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode"
)

// A refusal has two senders: the operation, and a router or a gateway before it. A 404 of the operation says that there is
// no such thing; one of a router, that there is no such operation, perhaps only for a moment. Both answer in JSON. Only
// their words distinguish them.

// InOwnWords reports whether the operation itself refused the request: with a status that operations use, and in a JSON
// object with a sentence that says more than the status, and that neither a router, a gateway, nor a store of
// idempotency keys says. Other methods, sizes and media types are refused by routers and gateways, too.
func InOwnWords(status int, body []byte) bool {
	switch status {
	case badRequest, paymentRequired, notFound, gone, preconditionFailed, unprocessable, locked, failedDependency, preconditionNeeded:
		said := sentencesOf(body)
		return namesMore(said) && !slices.ContainsFunc(said, ofGateway)
	}
	return false
}

func ofGateway(sentence string) bool {
	return slices.ContainsFunc(gateways, func(words string) bool { return strings.Contains(sentence, words) })
}

// gateways are words of gateways, and of stores of idempotency keys: those refuse a key whose first request is still under way.
var gateways = []string{"gateway", "proxy", "firewall", "blocked", "cloudflare", "cloudfront", "idempoten", "duplicate request", "in progress", "already being processed"}

// namesMore reports whether sentences of an error say more than its status, and are none of a router.
func namesMore(said []string) bool {
	return slices.ContainsFunc(said, func(s string) bool { return !slices.Contains(vague, s) }) && !saidByRouter(said)
}

// OfRouter reports whether the body of a 404 is surely that of a router or a gateway, which knows no such path.
func OfRouter(contentType string, body []byte) bool {
	return Page(contentType, body) || saidByRouter(append(sentencesOf(body), plain(string(body))))
}

// Leaves reports whether an address says of itself that nothing will be there again: a 410 that is no page, and has no words
// of a router or a gateway. It may say nothing. Of an answer that was cut nobody knows who gave it.
func Leaves(status int, contentType string, body []byte) bool {
	return Gone(status) && !OfRouter(contentType, body) && !ofGateway(strings.ToLower(string(body)))
}

func saidByRouter(said []string) bool {
	return slices.ContainsFunc(said, func(s string) bool {
		return slices.ContainsFunc(routers, func(words string) bool { return strings.Contains(" "+s+" ", " "+words+" ") })
	})
}

// routers are words of servers that know no such path, in the form of plain: Kong, Express, NestJS, Fastify, Spring, Laravel,
// Flask, Go, API Gateway, Apigee, Azure, Google, Heroku.
var routers = []string{
	"no route", "route", "no matching route", "cannot get", "cannot head", "cannot delete", "cannot put", "page not found", "no endpoint", "endpoint", "endpoints",
	"requested url", "request url", "requested path", "no static resource", "missing authentication token", "method does not exist", "method not found",
	"identify proxy", "no handler", "no mapping", "no such api", "no such app", "no such host", "api version", "unsupported version", "unknown path", "unknown url",
	"no such path", "no context path", "maintenance", "mantenimiento", "api key", "apikey", "no service", "backend", "upstream", "virtual host", "ruta", "página no encontrada",
}

// vague are sentences of an error, in the form of plain, that say no more than its status. Operations say them, too.
var vague = []string{
	"", "404", "not found", "404 not found", "http 404", "error", "notfound", "not found error", "notfounderror", "notfoundexception", "not found exception", "resource not found",
	"the resource was not found", "the requested resource was not found", "the requested resource could not be found", "resource notfound", "object not found", "no message available",
	"nothing here", "gone", "bad request", "400", "400 bad request", "badrequest", "invalid request", "malformed request", "payment required", "precondition failed",
	"unprocessable entity", "unprocessable content", "locked", "failed dependency", "precondition required", "does not exist", "http error", "fail", "failed", "client error", "no encontrado", "recurso no encontrado", "no existe",
}

// sentences are the members of an error object that describe the error.
var sentences = []string{"detail", "message", "msg", "error", "title", "description", "error_description", "errormessage", "reason", "faultstring", "code", "hint", "help"}

// mostNested is how deep an error object is searched for sentences.
const mostNested = 3

// sentencesOf returns the sentences of an error object, in the form of plain.
func sentencesOf(body []byte) []string {
	var v map[string]any
	if json.Unmarshal(body, &v) != nil {
		return nil
	}
	return gather(v, mostNested)
}

func gather(object map[string]any, deep int) (said []string) {
	for name, v := range object {
		switch v := v.(type) {
		case string:
			if slices.Contains(sentences, strings.ToLower(name)) {
				said = append(said, plain(v))
			}
		case map[string]any:
			if deep > 1 {
				said = append(said, gather(v, deep-1)...)
			}
		case []any:
			for _, one := range v {
				if inner, ok := one.(map[string]any); ok && deep > 1 {
					said = append(said, gather(inner, deep-1)...)
				}
			}
		}
	}
	return said
}

// plain returns a text in small letters, with one space between its words and no other signs. A capital inside a word
// begins another: "bookingNotFound".
func plain(text string) string {
	var b strings.Builder
	before := ' '
	for _, r := range text {
		switch isWord := unicode.IsLetter(r) || unicode.IsDigit(r); {
		case !isWord:
			r = ' '
		case unicode.IsUpper(r) && unicode.IsLower(before):
			b.WriteByte(' ')
		}
		b.WriteRune(unicode.ToLower(r))
		before = r
	}
	return strings.Join(strings.Fields(b.String()), " ")
}
