package openapi

import (
	"strings"
	"testing"
)

func TestCallsStayOnTheRegisteredOrigin(t *testing.T) {
	const at = "https://api.example.com/api/v1"
	cases := []struct {
		document string // members beside openapi and paths
		want     string
		warned   bool
	}{
		{`"openapi":"3.0.0"`, at, false},
		{`"openapi":"3.0.0","servers":[]`, at, false},
		{`"openapi":"3.0.0","servers":[{"url":"/"}]`, "https://api.example.com", false},
		{`"openapi":"3.0.0","servers":[{"url":"/v2/"}]`, "https://api.example.com/v2", false},
		{`"openapi":"3.0.0","servers":[{"url":"v2"}]`, "https://api.example.com/api/v1/v2", false},
		{`"openapi":"3.0.0","servers":[{"url":"https://api.example.com/v2"}]`, "https://api.example.com/v2", false},
		{`"openapi":"3.0.0","servers":[{"url":"http://API.example.com/v2"}]`, "https://api.example.com/v2", false},
		{`"openapi":"3.0.0","servers":[{"url":"https://api.example.com:444/v2"}]`, at, true},
		{`"openapi":"3.0.0","servers":[{"url":"https://evil.example/v2"}]`, at, true},
		{`"openapi":"3.0.0","servers":[{"url":"//evil.example/v2"}]`, at, true},
		{`"openapi":"3.0.0","servers":[{"url":"https://api.example.com@evil.example/"}]`, at, true},
		{`"openapi":"3.0.0","servers":[{"url":"https://user@api.example.com/v2"}]`, at, true},
		{`"openapi":"3.0.0","servers":[{"url":"https://api.example.com.evil.example/"},{"url":"/v3"}]`, "https://api.example.com/v3", true},
		{`"openapi":"3.0.0","servers":[{"url":"/v2?x=1"}]`, at, true},
		{`"openapi":"3.0.0","servers":[{"url":"/../../etc"}]`, "https://api.example.com/etc", false},
		{`"openapi":"3.0.0","servers":[{"url":"/%2e%2e/x"}]`, at, true},
		{`"openapi":"3.0.0","servers":[{"url":"javascript:alert(1)"}]`, at, true},
		{`"openapi":"3.0.0","servers":[{"url":"/{v}"}]`, at, true},
		{`"openapi":"3.0.0","servers":[{"url":"/{v}","variables":{"v":{"default":"v9"}}}]`, "https://api.example.com/v9", false},
		{`"swagger":"2.0"`, at, false},
		{`"swagger":"2.0","basePath":"/v2/"`, "https://api.example.com/v2", false},
		{`"swagger":"2.0","host":"api.example.com","basePath":"/v2"`, "https://api.example.com/v2", false},
		{`"swagger":"2.0","host":"evil.example","basePath":"/v2"`, "https://api.example.com/v2", true},
		{`"swagger":"2.0","basePath":"//evil.example/"`, "https://api.example.com/evil.example", false},
	}
	for _, c := range cases {
		found, err := parse(t.Context(), `{`+c.document+`,"paths":{}}`, at+"/openapi.json", at)
		if err != nil || found.BaseURL != c.want || (len(found.Warnings) > 0) != c.warned {
			t.Errorf("%s: %s %q %v, want %s", c.document, found.BaseURL, strings.Join(found.Warnings, "; "), err, c.want)
		}
	}
}
