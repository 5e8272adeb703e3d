package iam

import (
	"encoding/json"
	"strings"
	"testing"
)

func policy(t *testing.T, statements ...string) Policy {
	t.Helper()
	var document any
	if err := json.Unmarshal([]byte(`{"Version":"2012-10-17","Statement":[`+strings.Join(statements, ",")+`]}`), &document); err != nil {
		t.Fatal(err)
	}
	p, err := Read(document)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

const (
	table  = "arn:aws:dynamodb:us-east-1:123456789012:table/T"
	reads  = `{"Effect":"Allow","Action":["dynamodb:GetItem","dynamodb:Query"],"Resource":"` + table + `"}`
	ends   = `{"Effect":"Allow","Action":"dynamodb:DeleteItem","Resource":"` + table + `","Condition":{"ForAllValues:StringLike":{"dynamodb:LeadingKeys":["A#*#WS","WS#*"]}}}`
	hidden = `{"Effect":"Deny","Action":"dynamodb:*","Resource":["` + table + `","` + table + `/index/*"],"Condition":{"ForAnyValue:StringLike":{"dynamodb:LeadingKeys":["TOKEN#*"]}}}`
)

func TestCheck(t *testing.T) {
	p := policy(t, reads, ends, hidden)
	for _, c := range []struct {
		action, resource string
		keys             []string
		allowed          bool
	}{
		{"dynamodb:GetItem", table, []string{"A#1"}, true},
		{"DynamoDB:getitem", table, []string{"A#1"}, true}, // actions ignore case
		{"dynamodb:GetItem", strings.ToUpper(table), []string{"A#1"}, false},
		{"dynamodb:GetItem", table + "2", []string{"A#1"}, false},
		{"dynamodb:Query", table + "/index/due", []string{"A#1"}, false},
		{"dynamodb:PutItem", table, []string{"A#1"}, false},
		{"dynamodb:GetItem", table, []string{"TOKEN#a"}, false}, // a denied request is not allowed by another statement
		{"dynamodb:GetItem", table, []string{"A#1", "TOKEN#a"}, false},
		{"dynamodb:DeleteItem", table, []string{"A#1#WS"}, true},
		{"dynamodb:DeleteItem", table, []string{"WS#9", "A#1#WS"}, true},
		{"dynamodb:DeleteItem", table, []string{"A#1#C#2"}, false},
		{"dynamodb:DeleteItem", table, []string{"WS#9", "A#1#C#2"}, false}, // all keys must match
		{"dynamodb:DeleteItem", table, nil, true},                          // as AWS has it
		{"states:StartExecution", table, nil, false},
	} {
		if err := p.Check(Request{Action: c.action, Resource: c.resource, Keys: c.keys}); (err == nil) != c.allowed {
			t.Errorf("%s %s %q: %v", c.action, c.resource, c.keys, err)
		}
	}
}

// TestReadSkipsNothing: a part that is ignored would allow too much.
func TestReadSkipsNothing(t *testing.T) {
	for _, text := range []string{
		`[]`, `{"Statement":{}}`, `{"Id":"a","Statement":[]}`,
		`{"Statement":[{"Effect":"allow","Action":"a:B","Resource":"*"}]}`,
		`{"Statement":[{"Effect":"Allow","NotAction":"a:B","Resource":"*"}]}`,
		`{"Statement":[{"Effect":"Allow","Action":"a:B","Resource":[]}]}`,
		`{"Statement":[{"Effect":"Allow","Action":[1],"Resource":"*"}]}`,
		`{"Statement":[{"Effect":"Allow","Action":"a:B"}]}`,
		`{"Statement":[{"Effect":"Allow","Action":"a:B","Resource":"*","Condition":{"StringEquals":{"dynamodb:LeadingKeys":"a"}}}]}`,
		`{"Statement":[{"Effect":"Allow","Action":"a:B","Resource":"*","Condition":{"ForAnyValue:StringLike":{"aws:SourceIp":"a"}}}]}`,
		`{"Statement":[{"Effect":"Allow","Action":"a:B","Resource":"*","Condition":{"ForAnyValue:StringLike":{}}}]}`,
	} {
		var document any
		if err := json.Unmarshal([]byte(text), &document); err != nil {
			t.Fatal(err)
		}
		if p, err := Read(document); err == nil {
			t.Errorf("%s: %v", text, p)
		}
	}
}

func TestMatches(t *testing.T) {
	for _, c := range []struct {
		pattern, text string
		want          bool
	}{
		{"", "", true},
		{"*", "", true},
		{"*", "a", true},
		{"", "a", false},
		{"a", "a", true},
		{"a", "b", false},
		{"a*", "a", true},
		{"a*c", "abc", true},
		{"a*c", "abcb", false},
		{"a*b*c", "aXbYbZc", true},
		{"a?c", "abc", true},
		{"a?c", "ac", false},
		{"*a", "aab", false},
		{"**a**", "bab", true},
		{"A#*#W", "A#1#WS", false},
		{"A#*#W", "A#1#W", true},
	} {
		if got := matches(c.pattern, c.text); got != c.want {
			t.Errorf("%q, %q: %v", c.pattern, c.text, got)
		}
	}
}
