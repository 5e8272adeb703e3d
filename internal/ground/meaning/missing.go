package meaning

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode"
)

// A 404 has two senders: the operation, which has no such thing, and a router or a gateway before it, which has no such
// operation, perhaps only for a moment. Both answer in JSON. Their words tell them apart, as far as anything does.

// NamesMissing reports whether the body of a 404 says which thing is missing: a JSON object with a sentence that is not only
// "not found", and that no router says.
func NamesMissing(body []byte) bool {
	said := sentencesOf(body)
	return slices.ContainsFunc(said, func(s string) bool { return !slices.Contains(vague, s) }) && !saidByRouter(said)
}

// OfRouter reports whether the body of a 404 is surely that of a router or a gateway, which knows no such path.
func OfRouter(contentType string, body []byte) bool {
	return Page(contentType, body) || saidByRouter(append(sentencesOf(body), plain(string(body))))
}

func saidByRouter(said []string) bool {
	return slices.ContainsFunc(said, func(s string) bool {
		return slices.ContainsFunc(routers, func(words string) bool { return strings.Contains(" "+s+" ", " "+words+" ") })
	})
}

// routers are words of what knows no such path, in the form of plain: Kong, Express, NestJS, Fastify, Spring, Laravel, Flask,
// Go, API Gateway, Apigee, Azure, Google, Heroku.
var routers = []string{
	"no route", "route", "no matching route", "cannot get", "cannot head", "cannot delete", "cannot put", "page not found", "no endpoint", "endpoint", "endpoints",
	"requested url", "request url", "requested path", "no static resource", "missing authentication token", "method does not exist", "method not found",
	"identify proxy", "no handler", "no mapping", "no such api", "no such app", "no such host", "api version", "unsupported version", "unknown path", "unknown url",
	"no such path", "no context path", "no service", "backend", "upstream", "virtual host", "ruta", "página no encontrada",
}

// vague are sentences of a 404, in the form of plain, that name no thing. Operations say them, too.
var vague = []string{
	"", "404", "not found", "404 not found", "http 404", "error", "notfound", "not found error", "notfounderror", "notfoundexception", "not found exception", "resource not found",
	"the resource was not found", "the requested resource was not found", "the requested resource could not be found", "resource notfound", "object not found", "no message available",
	"nothing here", "does not exist", "http error", "fail", "failed", "client error", "no encontrado", "recurso no encontrado", "no existe",
}

// sentences are the members of an error object in which it says what happened.
var sentences = []string{"detail", "message", "msg", "error", "title", "description", "error_description", "errormessage", "reason", "faultstring", "code"}

// mostNested is how deep the sentences of an error object are looked for.
const mostNested = 3

// sentencesOf returns what an error object says, in the form of plain.
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

// plain returns a text in small letters, with one space between its words and no other signs.
func plain(text string) string {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	return strings.Join(words, " ")
}

// SoftError reports whether a body says that the request failed, whatever the status: an object whose error is not empty, or
// whose ok or success is false.
func SoftError(body []byte) bool {
	var object map[string]json.RawMessage
	if json.Unmarshal(body, &object) != nil {
		return false
	}
	for _, name := range []string{"error", "errors"} {
		switch value := strings.TrimSpace(string(object[name])); value {
		case "", "null", "false", `""`, "[]", "{}", "0":
		default:
			return true
		}
	}
	return string(object["ok"]) == "false" || string(object["success"]) == "false"
}
