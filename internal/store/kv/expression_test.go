package kv

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
)

// spell returns an expression with the names and values that its placeholders stand for.
func spell(t *testing.T, expression *string, names map[string]string, values Item) string {
	t.Helper()
	text := aws.ToString(expression)
	for n := len(names) - 1; n >= 0; n-- { // #10 before #1
		placeholder := fmt.Sprint("#", n)
		text = strings.ReplaceAll(text, placeholder, "'"+names[placeholder]+"'")
	}
	for n := len(values) - 1; n >= 0; n-- {
		placeholder := fmt.Sprint(":", n)
		var v any
		if err := attributevalue.Unmarshal(values[placeholder], &v); err != nil {
			t.Fatal(err)
		}
		text = strings.ReplaceAll(text, placeholder, fmt.Sprintf("<%v>", v))
	}
	return text
}

func TestUpdatesAreExpressions(t *testing.T) {
	for want, w := range map[string]Write{
		"SET 'status' = <done>, DueSK = if_not_exists(DueSK, <x>), 'full' = 'balance' + <2> REMOVE 'link', GSI1PK ADD 'tries' <1>, 'tools' <[a]>": Update(Key{}).
			Add("tries", 1).Add("tools", Strings("a")).Remove("link", "GSI1PK").
			Set("status", "done").Set("DueSK", Path("DueSK").IfMissing("x")).Set("full", Path("balance").Plus(2)),
		"SET 'sessions'.'a.b'.'room' = if_not_exists('sessions'.'a.b'.'room', <0>) + <-3>, 'more'[2].'note' = <[120]>": Update(Key{}).
			Add(Path("sessions").Of("a.b", "room"), -3).Set(Path("more").At(2).Of("note"), []byte("x")),
		"REMOVE 'hooks'": Update(Key{}).Remove("hooks"),
		"":               Update(Key{}),
	} {
		item, err := w.item(aws.String("t"))
		if err != nil {
			t.Fatal(err)
		}
		if got := spell(t, item.Update.UpdateExpression, item.Update.ExpressionAttributeNames, item.Update.ExpressionAttributeValues); got != want {
			t.Errorf("%s, want %s", got, want)
		}
		if w.IsEmpty() != (want == "") || item.Update.ConditionExpression != nil {
			t.Errorf("%s: it is empty, or has a condition", want)
		}
	}
}

func TestConditionsAreExpressions(t *testing.T) {
	at := time.UnixMilli(7)
	for want, c := range map[string]Condition{
		"":                         All(Condition{}, Any()),
		"attribute_not_exists(PK)": Missing("PK"),
		"(attribute_exists('a')) AND ('a' = <x>)":                           All(Exists("a"), Condition{}, Is("a", "x")),
		"('a' < <1>) OR ((NOT ('b' BETWEEN <7> AND <8>)) AND ('a' <= <2>))": Any(Less("a", 1), All(Not(Between("b", at, at.Add(time.Millisecond))), AtMost("a", int64(2)))),
		"('a' > <true>) AND ('b' >= <[1]>) AND ('c' <> <x>)":                All(Greater("a", true), AtLeast("b", []int{1}), IsNot("c", "x")),
		"(contains('a', <x>)) OR (size('a') < <3>)":                         Any(Contains("a", "x"), Shorter("a", 3)),
		"(attribute_not_exists('a')) AND ('a' = <4>)":                       All(Unchanged("a", 0), Unchanged("a", 4)),
	} {
		item, err := Delete(Key{}).If(c).item(aws.String("t"))
		if err != nil {
			t.Fatal(err)
		}
		if got := spell(t, item.Delete.ConditionExpression, item.Delete.ExpressionAttributeNames, item.Delete.ExpressionAttributeValues); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

type unencodable struct{}

func (unencodable) MarshalDynamoDBAttributeValue() (Value, error) { return nil, errors.New("no") }

func TestValueThatCannotBeEncodedFailsItsWrite(t *testing.T) {
	if _, err := Update(Key{}).Set("a", unencodable{}).item(aws.String("t")); err == nil {
		t.Error("it was encoded")
	}
}

func TestWritesFromOneAreApart(t *testing.T) {
	base := Update(Key{}).Set("a", 1).Set("b", 2).Set("c", 3)
	one, two := base.Set("d", 4), base.Set("e", 5)
	if one.sets[3].paths[0] != "d" || two.sets[3].paths[0] != "e" || len(base.sets) != 3 {
		t.Errorf("%v %v %v", one.sets, two.sets, base.sets)
	}
}

// BenchmarkExpressionsOfARun builds the update of the row of a run.
func BenchmarkExpressionsOfARun(b *testing.B) {
	name := aws.String("t")
	b.ReportAllocs()
	for b.Loop() {
		w := Update(Key{"A#acme#R#1", "RUN"}).Set("event_seq", 3).Set("updated_at", 7).Set("chain", "c").Set("status", "done").
			Set("DuePK", "UNPLACED").Set("DueSK", "7").Set("done", 1).Remove("GSI1PK", "GSI1SK").
			If(Is("event_seq", 2), Is("status", "running"), Missing("handouts"))
		if _, err := w.item(name); err != nil {
			b.Fatal(err)
		}
	}
}
