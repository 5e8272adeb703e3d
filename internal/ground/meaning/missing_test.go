package meaning_test

import (
	"encoding/json"
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
		`{"detail":"Booking norte not found"}`:                         {true, false},
		`{"error":"Not Found","message":"There is no booking norte."}`: {true, false},
		`{"code":"booking_not_found"}`:                                 {true, false},
		`{"error":"api key not found"}`:                                {false, true}, `{"error":"tenant not found"}`: {false, false}, `{"message":"404 Project Not Found"}`: {false, false}, `{"message":"Requested entity was not found."}`: {false, false},
		`{"message":"Service under maintenance, try later"}`: {false, true}, `{"message":"nothing for Norte"}`: {true, false},
		`{"error":{"message":"No such booking: 'norte'","code":"resource_missing"}}`:      {true, false},
		`{"errors":[{"code":"not_found","detail":"la reserva norte ya no está"}]}`:        {true, false},
		`{"error":"Not Found","message":"no Route matched","detail":"booking not found"}`: {false, true},
	} {
		thing, one := meaning.ThingOf("/v1/bookings/{id}", "/v1/bookings/norte")
		if got := [2]bool{one && meaning.NamesMissing([]byte(body), thing), meaning.OfRouter("", []byte(body))}; got != want {
			t.Errorf("%s: %t, want %t", body, got, want)
		}
	}
}

// A sentence decides only if it says that this thing is missing, and nothing else.
func TestOnlyTheThingOfAPathIsMissing(t *testing.T) {
	type thing struct{ template, path string }
	bookings, orders := thing{"/projects/{p}/bookings/{k}", "/projects/7/bookings/k12"}, thing{"/v2/orders/{id}", "/v2/orders/41"}
	for said, want := range map[string]map[thing]bool{
		"404 Project Not Found":                                     {bookings: false},
		"the project is not found or you have no access to it":      {bookings: false},
		"Booking not found in project 7":                            {bookings: false}, // "in" may lead anywhere
		"There is no booking k12 for project 7":                     {bookings: false},
		"There is no booking k12 for 7":                             {bookings: true},
		"The project of the booking does not exist":                 {bookings: false},
		"Booking k12 not found or access denied":                    {bookings: false},
		"No access to k12":                                          {bookings: false},
		"La reserva con id K12 no existe":                           {bookings: true},
		"No se ha encontrado la reserva k12.":                       {bookings: true},
		"Couldn't find Booking with 'id'=k12":                       {bookings: true},
		"No query results for model [Booking] k12":                  {bookings: true},
		"No Booking matches the given query.":                       {bookings: true},
		"BookingNotFound":                                           {bookings: true},
		"Booking already deleted":                                   {bookings: true},
		"Booking is not available in your region":                   {bookings: false},
		"No such booking: 'k12'; a similar one exists in live mode": {bookings: false},
		"booking not found, sign in again":                          {bookings: false},
		"Booking k12":                                               {bookings: false},
		"Version v2 of this API was retired":                        {orders: false},
		"v2 has been switched off":                                  {orders: false},
		"The orders API has been retired":                           {orders: false},
		"Zona 41 no existe":                                         {orders: false},
		"El pedido 41 no existe":                                    {orders: false}, // 41 may be anything's number
		"Order 41 does not exist":                                   {orders: true},
		"ORDER_NOT_FOUND":                                           {orders: true},
		"The requested resource was not found.":                     {{"/requests/{k}", "/requests/k1"}: false},
		"No message available":                                      {{"/messages/{k}", "/messages/k1"}: false},
		"Not Found":                                                 {{"/foundations/{k}", "/foundations/k1"}: false},
		"server not found":                                          {{"/services/{k}", "/services/k1"}: false},
		"object not found":                                          {{"/objects/{k}", "/objects/k1"}: false},
		"Payment intent pi_3 not found":                             {{"/payment-intents/{k}", "/payment-intents/pi_3"}: true},
		"No PaymentIntent 'pi_3'":                                   {{"/paymentIntents({k})", "/paymentIntents(pi_3)"}: true},
		"The category does not exist":                               {{"/categories/{k}", "/categories/k1"}: true},
		"La reservación no existe":                                  {{"/reservaciones/{k}", "/reservaciones/k1"}: true},
		"Ningún cliente 0f8e-11ad":                                  {{"/customers/{k}", "/customers/0f8e-11ad"}: true},
	} {
		body, err := json.Marshal(map[string]string{"message": said})
		if err != nil {
			t.Fatal(err)
		}
		for of, want := range want {
			if thing, one := meaning.ThingOf(of.template, of.path); !one || meaning.NamesMissing(body, thing) != want {
				t.Errorf("%s, at %s: want %t", said, of.path, want)
			}
		}
	}
	for body, want := range map[string]bool{
		`{"code":"FORBIDDEN","message":"No such booking"}`:                         false,
		`{"error":"Unauthorized","message":"Booking not found"}`:                   false,
		`{"message":"Booking not found","hint":"check your access token"}`:         false,
		`{"code":"P2025","message":"Booking not found"}`:                           true,
		`{"error":"Not Found","statusCode":404,"message":"Booking k12 not found"}`: true,
	} {
		if thing, _ := meaning.ThingOf(bookings.template, bookings.path); meaning.NamesMissing([]byte(body), thing) != want {
			t.Errorf("%s: want %t", body, want)
		}
	}
	for _, list := range []thing{{"/projects/{p}/issues", "/projects/7/issues"}, {"/v1/cart", "/v1/cart"}, {"/", "/"}, {"/a/{b}", "/a"}} {
		if _, one := meaning.ThingOf(list.template, list.path); one {
			t.Errorf("%s leads to one thing", list.template)
		}
	}
	if thing, one := meaning.ThingOf("/v1/cart", "/v1/cart"); one || meaning.NamesOther([]byte(`{"message":"no cart"}`), thing) || !meaning.NamesOther([]byte(`{"message":"no shop"}`), thing) {
		t.Error("a path without parameters is misread")
	}
}

func TestAnErrorInTheBodyIsNoAnswer(t *testing.T) {
	for body, want := range map[string]bool{
		`{"error":"timeout"}`: true, `{"error":{"code":5}}`: true, `{"errors":[{"message":"x"}],"data":null}`: true, `{"ok":false}`: true,
		`{"success":false,"data":[]}`: true, `{"error":true}`: true,
		`{"code":401,"msg":"token expired","data":null}`: true, `{"status":"error","message":"please sign in","data":null}`: true, `{"status":"fail","data":null}`: true,
		`{"success":"false","data":null}`: true, `{"success":0}`: true, `{"ok":0}`: true, `{"retcode":-1,"data":null}`: true, `{"Error":"x"}`: true, `{"fault":{"faultstring":"x"}}`: true,
		`{"data":{"error":"timeout","state":null}}`: true, `{"data":{"state":null,"errors":[1]}}`: true, `{"items":null,"error_code":7}`: true, `{"code":1001,"message":"no","data":null}`: true,
		`{"code":0,"msg":"ok","data":{"state":"free"}}`: false, `{"code":200,"message":"success","data":[]}`: false, `{"status":"failed","amount":3}`: false, `{"error_code":"0"}`: false,
		`{"status":"booked","message":"hola"}`: false, `{"data":null}`: false, `{"success":null}`: false, `{"retcode":0}`: false, `{"code":"TEA-400"}`: false,
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
