package openapi

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"piloto/internal/ground/locale"
	"piloto/internal/tools/tool"
)

// operationOf reads a document of one operation, POST /o, whose own members and those of whose document are given.
func operationOf(t *testing.T, at, operation, document string) (tool.Operation, tool.Found) {
	t.Helper()
	version := `"openapi":"3.0.3"`
	if strings.Contains(document, `"swagger"`) {
		version = `"info":{"title":"x","version":"1"}`
	}
	if operation != "" {
		operation += ","
	}
	text := fmt.Sprintf(`{%s%s,"paths":{"/o":{"post":{%s"responses":{"200":{"description":"ok"}}}}}}`, version, document, operation)
	found, err := parse(t.Context(), text, at+"/openapi.json", at)
	if err != nil || len(found.Operations) != 1 {
		t.Fatal(err, text)
	}
	return found.Operations[0], found
}

// header2 is a header of a document of 3.0 with a schema, and of2 a required one of 2.0.
func header2(name, schema string, required bool) string {
	return fmt.Sprintf(`"parameters":[{"in":"header","name":%q,"required":%v,"schema":%s}]`, name, required, schema)
}

func of2(name, members string) string {
	return fmt.Sprintf(`"parameters":[{"in":"header","name":%q,"required":true,%s}]`, name, members)
}

// TestHeadersOfVersion2AreSent: 2.0 ignores no header. A token is a key, and what is accepted is an argument.
func TestHeadersOfVersion2AreSent(t *testing.T) {
	const at, two = "https://api.example.com", `,"swagger":"2.0"`
	op, found := operationOf(t, at, of2("Authorization", `"type":"string"`), two)
	if len(op.Needs) != 1 || op.Needs[0].Name != "Authorization" || len(found.KeyPlaces) != 1 {
		t.Errorf("needs %v of %v", op.Needs, found.KeyPlaces)
	}
	op, found = operationOf(t, at, of2("authorization", `"type":"string"`), two+`,"securityDefinitions":{"o":{"type":"oauth2"}}`)
	set := tool.Server{Keys: []tool.KeyPlace{{In: "bearer"}}, Wants: found.KeyPlaces}
	if len(found.KeyPlaces) != 1 || len(set.MissingKeys(op)) != 0 || len(set.KeysOf(op)) != 1 || len(tool.Server{}.MissingKeys(op)) != 1 {
		t.Errorf("needs %v of %v", op.Needs, found.KeyPlaces)
	}
	op, _ = operationOf(t, at, of2("X-L", `"type":"array","maxItems":2,"items":{"type":"string"},"collectionFormat":"pipes"`), two)
	if got := sent(t, op, `{"X-L":["a,b","c"]}`, ""); got != "" {
		t.Error(got)
	}
	op, _ = operationOf(t, at, of2("Accept", `"type":"string","enum":["application/vnd.x.v2+json"]`), two)
	op.Method, op.Path = "POST", "/o"
	a, err := op.WithHeaders(tool.Arguments{Method: "POST", Path: "/o"})
	if err != nil {
		t.Fatal(err)
	}
	r, err := tool.Build(tool.Server{BaseURL: at}, op, a)
	if err != nil || r.Header["Accept"] != "application/vnd.x.v2+json" || !strings.Contains(string(a.Headers), "vnd.x.v2") {
		t.Errorf("%v %v %s", r.Header, err, a.Headers)
	}
}

// TestWhatCannotBeSentIsRefused: an operation that requires what no call can give is refused, with the reason, and no other.
func TestWhatCannotBeSentIsRefused(t *testing.T) {
	parameter := func(in, name, required string) string {
		return fmt.Sprintf(`"parameters":[{"in":%q,"name":%q,"required":%s,"schema":{"type":"string"}}]`, in, name, required)
	}
	const at = "https://api.example.com"
	for name, c := range map[string]struct{ operation, document, want string }{
		"nothing":                         {"", "", ""},
		"a required header":               {parameter("header", "If-Match", "true"), "", ""},
		"a required cookie":               {parameter("cookie", "sid", "true"), "", "cookie sid"},
		"an optional cookie":              {parameter("cookie", "sid", "false"), "", ""},
		"a cookie that is a key":          {parameter("cookie", "sid", "true"), `,"components":{"securitySchemes":{"s":{"type":"apiKey","in":"cookie","name":"sid"}}}`, ""},
		"a header that decides":           {parameter("header", "X-HTTP-Method-Override", "true"), "", "header X-HTTP-Method-Override"},
		"where a request came from":       {parameter("header", "X-Forwarded-For", "true"), "", "header X-Forwarded-For"},
		"a cookie as a header":            {parameter("header", "Cookie", "true"), "", "header Cookie"},
		"a header that decides, not so":   {parameter("header", "X-HTTP-Method-Override", "false"), "", ""},
		"a header of every request":       {parameter("header", "User-Agent", "true"), "", ""},
		"the key of once":                 {parameter("header", "Idempotency-Key", "true"), "", ""},
		"a header that OpenAPI ignores":   {parameter("header", "Authorization", "true"), "", ""},
		"a secret":                        {parameter("header", "X-Auth-Token", "true"), "", ""},
		"another origin":                  {`"servers":[{"url":"https://upload.example.com/2.0"}]`, "", "server https://upload.example.com/2.0"},
		"another port":                    {`"servers":[{"url":"https://api.example.com:8443"}]`, "", "server https://api.example.com:8443"},
		"another protocol":                {`"servers":[{"url":"wss://api.example.com/ws"}]`, "", "server wss://api.example.com/ws"},
		"another origin by a variable":    {`"servers":[{"url":"https://{r}.example.com","variables":{"r":{"default":"eu"}}}]`, "", "server https://eu.example.com"},
		"a second server of the document": {`"servers":[{"url":"https://eu.example.com"}]`, `,"servers":[{"url":"https://api.example.com"},{"url":"https://eu.example.com"}]`, "server https://eu.example.com"},
		"one of several":                  {`"servers":[{"url":"https://eu.example.com"},{"url":"/v2"}]`, "", ""},
		"an object as a header":           {header2("X-O", `{"type":"object"}`, true), "", "value X-O"},
		"JSON as a header":                {`"parameters":[{"in":"header","name":"X-J","required":true,"content":{"application/json":{"schema":{"type":"object"}}}}]`, "", "value X-J"},
		"objects as a header":             {header2("X-O", `{"type":"array","items":{"type":"object"}}`, true), "", "value X-O"},
		"an object as a header, optional": {header2("X-O", `{"type":"object"}`, false), "", ""},
		"a header of tabs":                {of2("X-T", `"type":"array","items":{"type":"string"},"collectionFormat":"tsv"`), `,"swagger":"2.0"`, "value X-T"},
		"2.0, a token":                    {of2("Authorization", `"type":"string"`), `,"swagger":"2.0"`, ""},
		"2.0, who asks":                   {of2("User-Agent", `"type":"string"`), `,"swagger":"2.0"`, ""},
		"2.0, who must ask":               {of2("User-Agent", `"type":"string","enum":["App/2"]`), `,"swagger":"2.0"`, "header User-Agent"},
		"2.0, any answer":                 {of2("Accept", `"type":"string"`), `,"swagger":"2.0"`, ""},
		"2.0, the type of no body":        {of2("Content-Type", `"type":"string","enum":["application/x"]`), `,"swagger":"2.0"`, ""},
		"a client's certificate":          {`"security":[{"c":[]}]`, `,"components":{"securitySchemes":{"c":{"type":"mutualTLS"}}}`, "scheme mutualTLS"},
		"a digest":                        {`"security":[{"c":[]}]`, `,"components":{"securitySchemes":{"c":{"type":"http","scheme":"Digest"}}}`, "scheme digest"},
		"a digest, or a token":            {`"security":[{"c":[]},{"t":[]}]`, `,"components":{"securitySchemes":{"c":{"type":"http","scheme":"digest"},"t":{"type":"http","scheme":"bearer"}}}`, ""},
		"a scheme that nobody defined":    {`"security":[{"c":[]}]`, "", ""},
		"a digest that is not asked for":  {`"security":[]`, `,"security":[{"c":[]}],"components":{"securitySchemes":{"c":{"type":"http","scheme":"digest"}}}`, ""},
		"a path that cannot be read":      {`"servers":[{"url":"/up?k=1"}]`, "", "address /up?k=1"},
		"a name in the address":           {`"servers":[{"url":"https://u:p@api.example.com/"}]`, "", "address https://u:p@api.example.com/"},
		"the document's, an escape":       {"", `,"servers":[{"url":"/a%2Fb/"}]`, "address /a%2Fb/"},
		"the document's, dots":            {"", `,"servers":[{"url":"/..;/adm"}]`, "address /..;/adm"},
		"the document's, absolute":        {"", `,"servers":[{"url":"https://api.example.com/a%2Fb"}]`, "address https://api.example.com/a%2Fb"},
		"the document's, half an escape":  {"", `,"servers":[{"url":"https://api.example.com/%zz"}]`, "address https://api.example.com/%zz"},
		"the document's, of no value":     {"", `,"servers":[{"url":"/{v}"}]`, "address /{v}"},
		"the document's, with a query":    {"", `,"servers":[{"url":"/v2?x=1"}]`, "address /v2?x=1"},
		"the document's, too long":        {"", `,"servers":[{"url":"/` + strings.Repeat("a", 1100) + `"}]`, "address {}"},
		"the document's, over a socket":   {"", `,"servers":[{"url":"wss://api.example.com/ws"}]`, "server wss://api.example.com/ws"},
		"the document's, no address":      {"", `,"servers":[{"url":"javascript:alert(1)"}]`, "address javascript:alert(1)"},
		"the document's second":           {"", `,"servers":[{"url":"/a%2Fb/"},{"url":"/v2"}]`, ""},
		"registered in its place":         {"", `,"servers":[{"url":"/a%2Fb/"},{"url":"https://x.example.com/v2"}]`, ""},
		"registered for a customer":       {"", `,"servers":[{"url":"https://{tenant}.example.com/v2"}]`, ""},
		"a server of its own":             {`"servers":[{"url":"/v2"}]`, `,"servers":[{"url":"/a%2Fb/"}]`, ""},
		"2.0, an escape":                  {"", `,"swagger":"2.0","basePath":"/a%2Fb/"`, "address /a%2Fb"},
		"2.0, dots":                       {"", `,"swagger":"2.0","basePath":"/..;/adm"`, "address /..;/adm"},
		"2.0 over a socket":               {`"schemes":["wss"]`, `,"swagger":"2.0"`, "server wss://"},
		"2.0 over a socket or not":        {`"schemes":["ws","http"]`, `,"swagger":"2.0"`, ""},
		"2.0, all over a socket":          {"", `,"swagger":"2.0","schemes":["ws"]`, "server ws://"},
	} {
		op, _ := operationOf(t, at, c.operation, c.document)
		got := ""
		if op.Refused != nil {
			got = op.Refused.Reason + " " + op.Refused.What
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		if !slices.ContainsFunc([]string{"a required header"}, func(n string) bool { return n == name }) {
			if i := slices.IndexFunc(op.Parameters, func(p tool.Parameter) bool { return p.In == "header" || p.In == "cookie" }); i >= 0 {
				t.Errorf("%s: %+v is an argument", name, op.Parameters[i])
			}
		}
	}
}

func TestServersOfOperationsAreUsedOnTheRegisteredOrigin(t *testing.T) {
	for name, c := range map[string]struct{ at, operation, document, want string }{
		"its own":                      {"https://api.example.com", `"servers":[{"url":"https://api.example.com/v2"}]`, `,"servers":[{"url":"/v1"}]`, "https://api.example.com/v2"},
		"relative":                     {"https://api.example.com", `"servers":[{"url":"/v2/"}]`, `,"servers":[{"url":"/v1"}]`, "https://api.example.com/v2"},
		"the same":                     {"https://api.example.com", `"servers":[{"url":"/v1"}]`, `,"servers":[{"url":"https://api.example.com/v1"}]`, ""},
		"a variable":                   {"https://api.example.com", `"servers":[{"url":"/{v}","variables":{"v":{"enum":["v3","v4"]}}}]`, ``, "https://api.example.com/v3"},
		"the document's, elsewhere":    {"https://mirror.example.com", `"servers":[{"url":"https://api.example.com"}]`, `,"servers":[{"url":"https://api.example.com"}]`, ""},
		"registered as it is":          {"https://upload.example.com", `"servers":[{"url":"https://upload.example.com/2.0"}]`, `,"servers":[{"url":"https://api.example.com/2.0"}]`, "https://upload.example.com/2.0"},
		"over TLS, registered without": {"http://api.example.com", `"servers":[{"url":"https://api.example.com/v2"}]`, ``, "http://api.example.com/v2"},
	} {
		op, _ := operationOf(t, c.at, c.operation, c.document)
		if op.Refused != nil || op.Base != c.want {
			t.Errorf("%s: %q %+v, want %q", name, op.Base, op.Refused, c.want)
		}
	}
	found, err := parse(t.Context(), `{"openapi":"3.0.3","paths":{"/a":{"servers":[{"url":"/path"}],"get":{},"put":{"servers":[{"url":"/own"}]}}}}`, "https://a.example/x.json", "https://a.example")
	if err != nil || found.Operations[0].Base != "https://a.example/path" || found.Operations[1].Base != "https://a.example/own" {
		t.Errorf("%+v %v", found.Operations, err)
	}
}

func TestRequirementsOfSecurityAreRead(t *testing.T) {
	const schemes = `,"components":{"securitySchemes":{"a":{"type":"apiKey","in":"header","name":"X-A"},"b":{"type":"apiKey","in":"query","name":"b"},"t":{"type":"oauth2"},"m":{"type":"mutualTLS"}}}`
	for name, c := range map[string]struct{ operation, document, want string }{
		"both":              {`"security":[{"a":[],"b":[]}]`, schemes, "[[header X-A query b]]"},
		"either":            {`"security":[{"a":[]},{"t":["read"]}]`, schemes, "[[header X-A] [bearer]]"},
		"optional":          {`"security":[{},{"a":[]}]`, schemes, "[[] [header X-A]]"},
		"none":              {`"security":[]`, `,"security":[{"a":[]}]` + schemes, "[[]]"},
		"the document's":    {``, `,"security":[{"a":[]}]` + schemes, "[[header X-A]]"},
		"nothing said":      {``, schemes, "[]"},
		"not defined":       {`"security":[{"z":[]}]`, schemes, "[]"},
		"not defined, and":  {`"security":[{"z":[],"a":[]}]`, schemes, "[]"},
		"not defined, or":   {`"security":[{"z":[]},{"a":[]}]`, schemes, "[[header X-A]]"},
		"no scheme at all":  {``, `,"security":[{"z":[]}]`, "[]"},
		"cannot be read":    {`"security":[{"z":[]}]`, `,"components":{"securitySchemes":{"z":{"type":"apiKey","in":"header"}}}`, "[]"},
		"no list":           {`"security":"a"`, schemes, "[]"},
		"by name":           {`"security":{"a":[],"b":[]}`, schemes, "[[header X-A query b]]"},
		"what can be given": {`"security":[{"m":[],"a":[]},{"b":[]}]`, schemes, "[[query b]]"},
		"a secret header":   {`"parameters":[{"in":"header","name":"X-Api-Token","required":true,"schema":{}}],"security":[{"a":[]}]`, schemes, "[[header X-A]]"},
	} {
		op, found := operationOf(t, "https://a.example", c.operation, c.document)
		if got := fmt.Sprint(op.Security); got != c.want || (op.Security == nil) != (name == "nothing said") {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
		if (name == "a secret header") != (len(op.Needs) == 1 && op.Needs[0].Name == "X-Api-Token") {
			t.Errorf("%s: needs %v", name, op.Needs)
		}
		for _, all := range append(op.Security, op.Needs) {
			for _, p := range all {
				if !slices.Contains(found.KeyPlaces, p) {
					t.Errorf("%s: %s is no place of a key", name, p)
				}
			}
		}
	}
}

// TestTypesOfBodiesThatAreNoneAreToldSo: where the document names no type for a body, or a word that is none, the refusal says
// that, and quotes nothing that is empty.
func TestTypesOfBodiesThatAreNoneAreToldSo(t *testing.T) {
	const at = "https://api.example.com"
	for media, want := range map[string]string{
		"": "untyped ", "  ": "untyped ", "json": "media json", "application": "media application", "application/": "media application/",
		"/json": "media /json", "{}": "media {}", "application/json": "", "*/*": "", "application/*": "", "image/*": "body image/*",
		"application/pdf": "body application/pdf",
	} {
		for _, required := range []string{`"required":true,`, ""} {
			op, _ := operationOf(t, at, fmt.Sprintf(`"requestBody":{%s"content":{%q:{"schema":{"type":"object"}}}}`, required, media), "")
			got := ""
			if op.Refused != nil {
				got = op.Refused.Reason + " " + op.Refused.What
			}
			if got != want {
				t.Errorf("%q: %q, want %q", media, got, want)
			}
		}
	}
	for body, want := range map[string]string{`"required":true,"content":{}`: "untyped", `"required":true`: "untyped", `"content":{}`: ""} {
		op, _ := operationOf(t, at, `"requestBody":{`+body+`}`, "")
		if got := op.Refused; (got == nil) != (want == "") || got != nil && got.Reason != want {
			t.Errorf("%s: %+v", body, got)
		}
	}
	op, _ := operationOf(t, at, `"consumes":[""],"parameters":[{"in":"body","name":"b","schema":{"type":"object"}}]`, `,"swagger":"2.0"`)
	if op.Refused == nil || op.Refused.Reason != tool.RefusedNoType {
		t.Errorf("2.0: %+v", op.Refused)
	}
	for _, tag := range []locale.Tag{locale.Spanish, locale.English} {
		for _, r := range []tool.Refusal{{Reason: tool.RefusedNoType}, {Reason: tool.RefusedMedia, What: "json"}} {
			if text := r.Phrase().In(tag); strings.Contains(text, "«»") || strings.Contains(text, "“”") || strings.Contains(text, "fault.") {
				t.Error(text)
			}
		}
	}
}

func TestTheAnswerForWhatIsMissingIsReadFromTheDocument(t *testing.T) {
	for status, want := range map[string]bool{"404": true, "410": true, "4XX": true, "4xx": true, "default": false, "400": false, "204": false} {
		text := fmt.Sprintf(`{"openapi":"3.0.3","paths":{"/o/{id}":{"get":{"responses":{"200":{"description":"ok"},%q:{"description":"x"}}}}}}`, status)
		found, err := parse(t.Context(), text, "https://api.example.com/openapi.json", "https://api.example.com")
		if err != nil || found.Operations[0].TellsMissing != want {
			t.Errorf("%s: %v %+v", status, err, found.Operations)
		}
	}
}
