package tool

import "encoding/json"

// Reserve returns a tool that uses every kind of parameter.
func Reserve() Operation {
	return Operation{
		Entry: Entry{Method: "POST", Path: "/rooms/{id}/reservations"},
		Parameters: []Parameter{
			{Name: "id", In: "path", Required: true, Schema: json.RawMessage(`{"type":"integer","minimum":1}`)},
			{Name: "notify", In: "query", Schema: json.RawMessage(`{"type":"boolean"}`)},
			{Name: "tags", In: "query", Explode: true, Schema: json.RawMessage(`{"type":"array","items":{"type":"string","maxLength":5},"maxItems":2}`)},
			{Name: "mode", In: "query", Required: true, Schema: json.RawMessage(`{"enum":["fast","slow"]}`)},
			{Name: "X-Tenant", In: "header", Schema: json.RawMessage(`{}`)},
		},
		Body: &Body{Required: true, MediaType: "application/json", Schema: json.RawMessage(`{
			"type":"object","required":["date","people"],"additionalProperties":false,
			"properties":{
				"date":{"type":"string","format":"date"},
				"people":{"type":"integer","minimum":1,"maximum":12},
				"code":{"type":"string","pattern":"^[A-Z]{3}$"},
				"look":{"type":"string","pattern":"^(?!x)"},
				"guest":{"$ref":"#/$defs/guest"},
				"extras":{"type":"array","uniqueItems":true,"items":{"enum":["tv","bed"]}},
				"pay":{"oneOf":[{"type":"object","required":["card"],"properties":{"card":{"type":"string","minLength":12}}},{"type":"object","required":["iban"],"properties":{"iban":{"type":"string"}}}]},
				"when":{"anyOf":[{"type":"string","format":"date-time"},{"type":"integer","format":"int32"},{"type":"null"}]}
			},
			"$defs":{"guest":{"type":"object","required":["name"],"properties":{"name":{"type":"string"},"email":{"type":"string","format":"email"}}}}
		}`)},
	}
}

// MaxProblems is exported for package tool_test, whose tests import package schema.
const MaxProblems = maxProblems

// Op is exported for the same tests.
var Op = op

// FormMedia is the media type of forms.
const FormMedia = formMedia
