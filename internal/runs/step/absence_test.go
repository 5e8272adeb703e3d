package step_test

import (
	"encoding/json"
	"testing"

	"piloto/internal/ground/ref"
	"piloto/internal/runs/step"
	"piloto/internal/tools/tool"
)

// A lost change is never called done because something is not there: neither the thing, nor a member of its answer. What the
// plan compares has to be there, or to be said to be missing: by null, by the end of a list, or by a status that the plan names.
func TestNoLostChangeIsDoneByAbsence(t *testing.T) {
	const (
		done    = "done"
		notDone = "error step.not_done"
		doubt   = "in_doubt step.in_doubt"
		missing = `#404 {"error":"booking norte does not exist"}`
		gone    = `#410 {"error":"booking norte was deleted"}`

		notFree    = `{"value":"${check.body.state}","is":"not_equal","to":"free"}`
		notTheFree = `{"not":{"value":"${check.body.state}","is":"equal","to":"free"}}`
		unbooked   = `{"value":"${check.body.guest}","is":"absent"}`
		cancelled  = `{"any":[{"value":"${check.status}","is":"equal","to":404},{"value":"${check.body.state}","is":"equal","to":"cancelled"}]}`
	)
	for name, c := range map[string]struct{ expect, answer, is string }{
		"another value, and no thing":            {notFree, missing, doubt},
		"another value, and a thing that went":   {notFree, gone, doubt},
		"the opposite, and no thing":             {notTheFree, missing, doubt},
		"no member, and no thing":                {unbooked, missing, doubt},
		"no header, and no thing":                {`{"value":"${check.headers.Etag}","is":"absent"}`, missing, doubt},
		"no body, and no thing":                  {`{"value":"${check.body}","is":"not_equal","to":"free"}`, missing, doubt},
		"none of two, and no thing":              {`{"not":{"any":[` + notTheFree + `,` + unbooked + `]}}`, missing, notDone},
		"both, and no thing":                     {`{"all":[{"value":"${check.status}","is":"equal","to":404},` + notFree + `]}`, missing, doubt},
		"words of the error, and no thing":       {`{"value":"${check.body.error}","is":"present"}`, missing, doubt},
		"a value, and no thing":                  {`{"value":"${check.body.state}","is":"equal","to":"booked"}`, missing, notDone},
		"a member, and no thing":                 {`{"value":"${check.body.guest}","is":"present"}`, missing, notDone},
		"no thing, and no thing":                 {`{"value":"${check.status}","is":"equal","to":404}`, missing, done},
		"no thing or a value, and no thing":      {cancelled, missing, done},
		"no thing or a value, and the value":     {cancelled, `{"state":"cancelled"}`, done},
		"no thing or a value, and another":       {cancelled, `{"state":"free"}`, notDone},
		"no success, and no thing":               {`{"value":"${check.status}","is":"at_least","to":400}`, missing, done},
		"not 404, and no thing":                  {`{"value":"${check.status}","is":"not_equal","to":404}`, missing, notDone},
		"not 404, and the thing":                 {`{"value":"${check.status}","is":"not_equal","to":404}`, `{"state":"free"}`, done},
		"not 500, and no thing":                  {`{"value":"${check.status}","is":"not_equal","to":500}`, missing, doubt},
		"any status, and no thing":               {`{"value":"${check.status}","is":"present"}`, missing, doubt},
		"another value":                          {notFree, `{"state":"booked"}`, done},
		"another value, and it is not":           {notFree, `{"state":"free"}`, notDone},
		"another value, of another type":         {notFree, `{"state":7}`, done},
		"another value, and null":                {notFree, `{"state":null}`, doubt},
		"another value, and no member":           {notFree, `{"message":"please sign in"}`, doubt},
		"the opposite, and null":                 {notTheFree, `{"state":null}`, doubt},
		"not null, and null":                     {`{"value":"${check.body.guest}","is":"not_equal","to":null}`, `{"guest":null}`, notDone},
		"null, and null":                         {`{"value":"${check.body.guest}","is":"equal","to":null}`, `{"guest":null}`, done},
		"null, and no member":                    {`{"value":"${check.body.guest}","is":"equal","to":null}`, `{}`, doubt},
		"no member, and no member":               {unbooked, `{"message":"please sign in"}`, doubt},
		"no member, and null":                    {unbooked, `{"guest":null}`, done},
		"no member, and the member":              {unbooked, `{"guest":"Ana"}`, notDone},
		"a member, and no member":                {`{"value":"${check.body.guest}","is":"present"}`, `{"message":"please sign in"}`, doubt},
		"not a member, and no member":            {`{"not":{"value":"${check.body.guest}","is":"present"}}`, `{}`, doubt},
		"inside, another value, and no member":   {`{"value":"${check.body.data.state}","is":"not_equal","to":"free"}`, `{"data":{}}`, doubt},
		"inside, another value, and null":        {`{"value":"${check.body.data.state}","is":"not_equal","to":"free"}`, `{"data":null}`, doubt},
		"inside, no member, and null":            {`{"value":"${check.body.data.guest}","is":"absent"}`, `{"data":null}`, done},
		"a list, another value, and no element":  {`{"value":"${check.body.items[0].state}","is":"not_equal","to":"free"}`, `{"items":[]}`, doubt},
		"a list, the opposite, and no element":   {`{"not":{"value":"${check.body.items[0].state}","is":"equal","to":"free"}}`, `{"items":[]}`, doubt},
		"a list, a value, and no element":        {`{"value":"${check.body.items[0].state}","is":"equal","to":"booked"}`, `{"items":[]}`, notDone},
		"a list, no element, and no element":     {`{"value":"${check.body.items[0]}","is":"absent"}`, `{"items":[]}`, done},
		"a list, an element, and no element":     {`{"value":"${check.body.items[0]}","is":"present"}`, `{"items":[]}`, notDone},
		"a list, no element, and no list":        {`{"value":"${check.body.items[0]}","is":"absent"}`, `{"message":"please sign in"}`, doubt},
		"a list of lists, no element, and none":  {`{"value":"${check.body[0]}","is":"absent"}`, `[]`, done},
		"no less, and a text":                    {`{"not":{"value":"${check.body.seats}","is":"less","to":1}}`, `{"seats":"?"}`, doubt},
		"no less, and less":                      {`{"not":{"value":"${check.body.seats}","is":"less","to":1}}`, `{"seats":0}`, notDone},
		"no less, and more":                      {`{"not":{"value":"${check.body.seats}","is":"less","to":1}}`, `{"seats":2}`, done},
		"unlike another, which is not there":     {`{"value":"${check.body.state}","is":"not_equal","to":"${check.body.was}"}`, `{"state":"booked"}`, doubt},
		"unlike another, which is null":          {`{"value":"${check.body.state}","is":"not_equal","to":"${check.body.was}"}`, `{"state":"booked","was":null}`, doubt},
		"unlike another":                         {`{"value":"${check.body.state}","is":"not_equal","to":"${check.body.was}"}`, `{"state":"booked","was":"free"}`, done},
		"a header of another value, and no such": {`{"value":"${check.headers.Etag}","is":"not_equal","to":"x"}`, `{"state":"booked"}`, doubt},
		"no header, and no such":                 {`{"value":"${check.headers.Etag}","is":"absent"}`, `{"state":"booked"}`, doubt},
	} {
		t.Run(name, func(t *testing.T) {
			s := checkedStep("POST", "/bookings")
			s.Verify.Expect = ref.Condition{}
			if err := json.Unmarshal([]byte(c.expect), &s.Verify.Expect); err != nil {
				t.Fatal(err)
			}
			w, r := newRun(t, nil, s)
			upstream(w, map[string]string{"POST /bookings": "!", "GET /bookings/norte": c.answer})
			ends := map[string]string{done: "done", notDone: step.Rejected, doubt: step.InDoubt}[c.is]
			if got := drive(t, w, r, "s1"); got != ends || status(w, r, "s1") != c.is {
				t.Errorf("ended %s: %s, want %s", got, status(w, r, "s1"), c.is)
			}
			for _, q := range w.Requests()[1:] {
				if q.Method == "POST" {
					t.Error("sent twice")
				}
			}
		})
	}
}

// An answer without a body tells by its status only.
func TestCheckOfAnEmptyAnswerIsDecidedByItsStatus(t *testing.T) {
	for expect, want := range map[string]string{
		`{"value":"${check.status}","is":"equal","to":204}`:         "done",
		`{"value":"${check.body}","is":"absent"}`:                   step.InDoubt,
		`{"value":"${check.body.x}","is":"not_equal","to":"f"}`:     step.InDoubt,
		`{"not":{"value":"${check.body.x}","is":"equal","to":"f"}}`: step.InDoubt,
	} {
		s := checkedStep("POST", "/bookings")
		s.Verify.Expect = ref.Condition{}
		if err := json.Unmarshal([]byte(expect), &s.Verify.Expect); err != nil {
			t.Fatal(err)
		}
		w, r := newRun(t, nil, s)
		w.Answer(func(q tool.Request) (tool.Answer, error) {
			if q.Method == "POST" {
				return tool.Answer{}, tool.ErrLost
			}
			return tool.Answer{Status: 204}, nil
		})
		if got := drive(t, w, r, "s1"); got != want {
			t.Errorf("%s ended %s", expect, got)
		}
	}
}
