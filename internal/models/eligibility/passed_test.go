package eligibility_test

import (
	"testing"

	"piloto/internal/ground/locale"
	"piloto/internal/models/credit"
	"piloto/internal/models/eligibility"
)

// TestABudgetThatStopsSaysHowMuchWasNeeded: the limit that is passed, what was spent and what the call may cost, in both
// languages. A limit that no such call fits into comes first, because waiting does not help there.
func TestABudgetThatStopsSaysHowMuchWasNeeded(t *testing.T) {
	for name, c := range map[string]struct {
		limits        credit.Limits
		day, month    int64
		spent, needed int64
		want          eligibility.Passed
		es, en        string
	}{
		"the day": {
			credit.Limits{Day: 500_000, Month: 9_000_000},
			480_000, 3_000_000, 0, 61_337,
			eligibility.Passed{Of: eligibility.BoundDay, Limit: 500_000, Spent: 480_000, Needed: 61_337},
			"El límite de gasto al día es de 0,50 USD: van 0,48 USD gastados o reservados, y esta llamada puede costar hasta 0,0614 USD.",
			"The spending limit per day is 0.50 USD: 0.48 USD are spent or held, and this call may cost up to 0.0614 USD.",
		},
		"the month": {
			credit.Limits{Day: 500_000, Month: 1_250_000_000},
			0, 1_249_999_999, 0, 2,
			eligibility.Passed{Of: eligibility.BoundMonth, Limit: 1_250_000_000, Spent: 1_249_999_999, Needed: 2},
			"El límite de gasto al mes es de 1250,00 USD: van 1250,00 USD gastados o reservados, y esta llamada puede costar hasta 0,000002 USD.",
			"The spending limit per month is 1,250.00 USD: 1,250.00 USD are spent or held, and this call may cost up to 0.000002 USD.",
		},
		"an answer": {
			credit.Limits{Day: 500_000, Run: 100_000},
			0, 0, 60_000, 50_000,
			eligibility.Passed{Of: eligibility.BoundRun, Limit: 100_000, Spent: 60_000, Needed: 50_000},
			"El límite por respuesta o ejecución es de 0,10 USD: van 0,06 USD gastados, y esta llamada puede costar hasta 0,05 USD.",
			"The limit per answer or run is 0.10 USD: 0.06 USD are spent, and this call may cost up to 0.05 USD.",
		},
		"two, and one of them for ever": {
			credit.Limits{Day: 500_000, Run: 40_000},
			480_000, 0, 0, 50_000,
			eligibility.Passed{Of: eligibility.BoundRun, Limit: 40_000, Needed: 50_000},
			"El límite por respuesta o ejecución es de 0,04 USD: van 0,00 USD gastados, y esta llamada puede costar hasta 0,05 USD.",
			"The limit per answer or run is 0.04 USD: 0.00 USD are spent, and this call may cost up to 0.05 USD.",
		},
		"none":             {credit.Limits{Day: 500_000, Month: 500_000, Run: 500_000}, 450_000, 450_000, 450_000, 50_000, eligibility.Passed{}, "", ""},
		"none is set":      {credit.Limits{}, 450_000, 450_000, 450_000, 50_000, eligibility.Passed{}, "", ""},
		"it costs nothing": {credit.Limits{Day: 1, Run: 1}, 5, 5, 5, 0, eligibility.Passed{}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, exceeded := eligibility.Exceeded(c.limits, credit.Standing{Day: c.day, Month: c.month}, c.spent, c.needed)
			if got != c.want || exceeded != (c.es != "") {
				t.Fatalf("%+v, %t", got, exceeded)
			}
			b := eligibility.Refuse(eligibility.BudgetExceeded, "openai")
			plain := b.Message()
			if b.Passed = got; !exceeded {
				if b.Detail() != nil || b.Message().In(locale.Spanish) != plain.In(locale.Spanish) {
					t.Errorf("%s", b.Message().In(locale.Spanish))
				}
				return
			}
			for tag, want := range map[locale.Tag]string{locale.Spanish: c.es, locale.English: c.en} {
				if got := b.Message().In(tag); got != plain.In(tag)+" "+want || b.Detail().In(tag) != want {
					t.Errorf("%s", got)
				}
			}
			if costs := b.Costs(); (costs != 0) != (c.needed > got.Limit) {
				t.Errorf("an answer may cost %d", costs)
			}
		})
	}
}

// TestABlockForCreditsSaysHowManyAreNeeded beside what to add; the sentence of its reason is prescribed.
func TestABlockForCreditsSaysHowManyAreNeeded(t *testing.T) {
	one, b := int64(1), eligibility.Refuse(eligibility.InsufficientCredits, "openai")
	b.CreditBalance, b.Missing = &one, 4
	for tag, want := range map[locale.Tag]string{
		locale.Spanish: "Hay 1 crédito, y esta llamada necesita 5. Añade al menos 4 créditos y reinténtalo.",
		locale.English: "There is 1 credit, and this call needs 5. Add at least 4 credits and try again.",
	} {
		if got := b.Action().In(tag); got != want {
			t.Errorf("%s", got)
		}
	}
}
