package ref

import "testing"

// A condition fits an answer that has what it compares, and is proven by what is there.
func TestConditionIsProvenByWhatIsThere(t *testing.T) {
	look := results1(`{"n":10,"t":"x","nil":null,"o":{"a":1},"l":[{"a":1}],"none":[]}`)
	const gone, nothing = `{"value":"${s1.body.gone}","is":"not_equal","to":1}`, `{"value":"${s1.body.nil}","is":"not_equal","to":1}`
	for in, want := range map[string][2]bool{ // it fits; it is proven
		`{"value":"${s1.status}","is":"equal","to":200}`:                    {true, true},
		`{"value":"${s1.status}","is":"equal","to":404}`:                    {true, false},
		`{"value":"${s1.headers.etag}","is":"present"}`:                     {true, true},
		`{"value":"${s1.headers.none}","is":"absent"}`:                      {false, false},
		`{"value":"${none.body}","is":"absent"}`:                            {false, false},
		`{"value":"${s1.body.n}","is":"more","to":9}`:                       {true, true},
		`{"value":"${s1.body.t}","is":"more","to":9}`:                       {true, false},
		`{"not":{"value":"${s1.body.t}","is":"more","to":9}}`:               {true, false},
		`{"value":"${s1.body.t}","is":"not_equal","to":9}`:                  {true, true},
		`{"value":"${s1.body.nil}","is":"absent"}`:                          {true, true},
		`{"value":"${s1.body.nil}","is":"equal","to":null}`:                 {true, true},
		`{"value":"${s1.body.nil.x}","is":"absent"}`:                        {true, true},
		`{"value":"${s1.body.n.x}","is":"absent"}`:                          {false, false},
		`{"value":"${s1.body.n[0]}","is":"absent"}`:                         {false, false},
		`{"value":"${s1.body.o.b}","is":"absent"}`:                          {false, false},
		`{"value":"${s1.body.o[0]}","is":"absent"}`:                         {false, false},
		`{"value":"${s1.body.none[0].a.b}","is":"absent"}`:                  {true, true},
		`{"value":"${s1.body.none[0].a}","is":"not_equal","to":1}`:          {true, false},
		`{"value":"${s1.body.l[0].b}","is":"absent"}`:                       {false, false},
		`{"value":"${s1.body.n}","is":"not_equal","to":"${s1.body.gone}"}`:  {false, false},
		`{"value":"${s1.body.nil}","is":"not_equal","to":"${s1.body.nil}"}`: {true, false},
		`{"value":"${s1.body.nil}","is":"equal","to":"${s1.body.nil}"}`:     {true, false},
		gone:                                     {false, false},
		nothing:                                  {true, false},
		`{"any":[` + one + `,` + gone + `]}`:     {false, true},
		`{"any":[` + nothing + `,` + gone + `]}`: {false, false},
		`{"all":[` + one + `,` + nothing + `]}`:  {true, false},
		`{"all":[` + twos + `]}`:                 {true, true},
		`{"not":{"all":[` + one + `,{"value":"${s1.body.n}","is":"less","to":1}]}}`: {true, true},
		`{"not":{"any":[{"value":"${s1.body.nil}","is":"equal","to":1}]}}`:          {true, false},
		`{"not":{"not":` + one + `}}`:                                               {true, true},
	} {
		c := condition(t, in)
		if fits, proven := c.Fits(look), c.Proven(look); fits != want[0] || proven != want[1] {
			t.Errorf("%s fits %v, is proven %v; want %v", in, fits, proven, want)
		}
		if holds, _ := c.Holds(look); c.Proven(look) && !holds {
			t.Errorf("%s is proven, and does not hold", in)
		}
	}
	if (Condition{}).Proven(look) {
		t.Error("nothing is proven")
	}
}
