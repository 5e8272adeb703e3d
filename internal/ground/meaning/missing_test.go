package meaning_test

import (
	"testing"

	"piloto/internal/ground/meaning"
)

func TestOnlyAnOperationNamesWhatIsMissing(t *testing.T) {
	for body, want := range map[string][2]bool{ // it names the thing; a router surely said it
		`{"message":"no Route matched with those values"}`:                                           {false, true},
		`{"timestamp":"2026-01-01T00:00:00Z","status":404,"error":"Not Found","path":"/bookings/7"}`: {false, false},
		`{"status":404,"error":"Not Found","message":"No static resource bookings/7."}`:              {false, true},
		`{"statusCode":404,"message":"Cannot GET /bookings/7","error":"Not Found"}`:                  {false, true},
		`{"message":"Route GET:/bookings/7 not found","error":"Not Found","statusCode":404}`:         {false, true},
		`{"detail":"Not Found"}`:                     {false, false},
		`{"detail":"Not found."}`:                    {false, false},
		`{"message":"Missing Authentication Token"}`: {false, true},
		`{"message":"Not Found"}`:                    {false, false},
		`{"message":null}`:                           {false, false},
		`{"fault":{"faultstring":"Unable to identify proxy for host: x","detail":{"errorcode":"m"}}}`: {false, true},
		`{"statusCode":404,"message":"Resource not found"}`:                                           {false, false},
		`{"error":{"code":404,"message":"Method not found.","status":"NOT_FOUND"}}`:                   {false, true},
		`{"message":"The route api/bookings/7 could not be found."}`:                                  {false, true},
		`{"type":"https://tools.ietf.org/html/rfc9110#section-15.5.5","title":"Not Found"}`:           {false, false},
		`{"errors":[{"code":"NOT_FOUND","title":"Not found"}]}`:                                       {false, false},
		`404 page not found`: {false, true},
		`"Not Found"`:        {false, false},
		`[]`:                 {false, false},
		`{}`:                 {false, false},
		``:                   {false, false},
		`<!DOCTYPE html><h1>There isn't a GitHub Pages site here.`:     {false, true},
		`{"detail":"Booking 7 not found"}`:                             {true, false},
		`{"error":"Not Found","message":"There is no booking norte."}`: {true, false},
		`{"code":"booking_not_found"}`:                                 {true, false},
		`{"error":"api key not found"}`:                                {false, true}, `{"error":"tenant not found"}`: {false, false}, `{"message":"404 Project Not Found"}`: {false, false}, `{"message":"Requested entity was not found."}`: {false, false},
		`{"message":"Service under maintenance, try later"}`: {false, true}, `{"message":"nothing for K12"}`: {true, false},
		`{"error":{"message":"No such booking: 'cus_1'","code":"resource_missing"}}`:      {true, false},
		`{"errors":[{"code":"not_found","detail":"la reserva norte ya no está"}]}`:        {true, false},
		`{"error":"Not Found","message":"no Route matched","detail":"booking not found"}`: {false, true},
	} {
		if got := [2]bool{meaning.NamesMissing([]byte(body), []string{"bookings", "k12", "reservas"}), meaning.OfRouter("", []byte(body))}; got != want {
			t.Errorf("%s: %t, want %t", body, got, want)
		}
	}
}

func TestAnErrorInTheBodyIsNoAnswer(t *testing.T) {
	for body, want := range map[string]bool{
		`{"error":"timeout"}`: true, `{"error":{"code":5}}`: true, `{"errors":[{"message":"x"}],"data":null}`: true, `{"ok":false}`: true,
		`{"success":false,"data":[]}`: true, `{"error":true}`: true,
		`{"error":null,"id":1}`: false, `{"errors":[]}`: false, `{"ok":true}`: false, `{"state":"free"}`: false, `[]`: false, ``: false, `{"error":""}`: false,
	} {
		if meaning.SoftError([]byte(body)) != want {
			t.Errorf("%s", body)
		}
	}
}

func TestOnlyTheOperationRefusesInItsOwnWords(t *testing.T) {
	for want, answers := range map[bool]map[string]int{
		true: {
			`{"detail":"There is no room."}`: 422, `{"error":"x"}`: 400, `{"error":{"code":"card_declined"}}`: 402, `{"code":"booking_not_found"}`: 404,
			`{"errors":[{"detail":"the version is 4"}]}`: 412, `{"message":"the booking is frozen"}`: 423,
		},
		false: {
			`<html>blocked</html>`: 422, ``: 404, `{}`: 422, `[]`: 400, `"sold out"`: 422, `{"detail":`: 422, `{"detail":"Unprocessable Entity"}`: 422, `{"message":"Bad Request"}`: 400,
			`{"message":"no Route matched with those values"}`: 404, `{"error":"Request blocked by the firewall"}`: 400, `{"error":"Bad gateway"}`: 400,
			`{"error":{"type":"idempotency_error"}}`: 400, `{"error":"a request with this key is in progress"}`: 422,
			`{"detail":"use POST"}`: 405, `{"detail":"too large"}`: 413, `{"detail":"another host"}`: 421, `{"detail":"taken"}`: 409, `{"detail":"who?"}`: 401, `{"detail":"no"}`: 403,
			`{"detail":"it broke"}`: 500, `{"detail":"slow down"}`: 429, `{"detail":"done"}`: 200,
		},
	} {
		for body, status := range answers {
			if got := meaning.InOwnWords(status, []byte(body)); got != want {
				t.Errorf("%d %s: %t", status, body, got)
			}
		}
	}
}
