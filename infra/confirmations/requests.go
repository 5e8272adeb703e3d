package main

// document is an OpenAPI document, and the answers of its service: JSON by method and path, where * is any segment.
type document struct {
	name, file string
	answers    map[string]string
}

// call is one request to a service.
type call struct {
	of          string // the name of a document
	method      string
	path        string
	query, body map[string]any
}

// request is a request of a person, and the calls that it takes. A model has to read before it can answer or write. blind are the
// writes with references instead of values that were read; without them, the rows must be seen first.
type request struct {
	of, language, says string
	reads              []call
	writes, blind      []call
	follows            bool // it goes on in the chat of the one before
}

const (
	museum, trains, pets = "museum", "trains", "pets"

	event, trip, booking, qr = "dad4bce8-f5cb-4078-a211-995864315e39", "ea399ba1-6d95-433f-92d1-83f67b775594", "1725ff48-ab45-4bb5-9d02-88745177dedb", "382c0820-0530-4f4b-99af-13811ad0f17a"
	berlin, paris            = "efdbb9d1-02c2-4bc3-afb7-6788d8782b1e", "b2e783e1-c824-4d63-b37a-d8d698862f1d"
)

// documents lists the services. Their documents are files of the folder that the flag names.
var documents = []document{
	{museum, "museum-31.yaml", map[string]string{
		"GET /museum-hours": `[{"date":"2026-12-01","timeOpen":"09:00","timeClose":"18:00"},{"date":"2026-12-06","timeOpen":"10:00","timeClose":"16:00"}]`,
		"GET /special-events": `[{"eventId":"` + event + `","name":"Mermaid Treasure","location":"Under the sea","dates":["2026-12-05"],"price":25},
			{"eventId":"6744a0da-4121-49cd-8479-f8cc20526495","name":"Time Traveler Tea Party","location":"Temporal Tearoom","dates":["2026-12-12"],"price":12}]`,
		"GET /special-events/*":    `{"eventId":"` + event + `","name":"Mermaid Treasure","location":"Under the sea","dates":["2026-12-05"],"price":25}`,
		"POST /special-events":     `{"eventId":"` + event + `","name":"Noche en blanco","dates":["2026-12-19"],"price":0}`,
		"PATCH /special-events/*":  `{"eventId":"` + event + `","name":"Mermaid Treasure","price":15}`,
		"DELETE /special-events/*": `{}`,
		"POST /tickets":            `{"message":"Museum special event entry ticket purchased","ticketId":"` + qr + `","ticketType":"event","ticketDate":"2026-12-05","confirmationCode":"ticket-event-a98c8f-7eb12"}`,
		"GET /tickets/*/qr":        `{"code":"ticket-event-a98c8f-7eb12"}`,
	}},
	{trains, "train-travel-31.yaml", map[string]string{
		"GET /stations": `{"data":[{"id":"` + berlin + `","name":"Berlin Hauptbahnhof","country_code":"DE"},{"id":"` + paris + `","name":"Paris Gare du Nord","country_code":"FR"}]}`,
		"GET /trips": `{"data":[{"id":"` + trip + `","departure_time":"2026-12-05T10:00:00Z","operator":"Deutsche Bahn","price":50,"bicycles_allowed":true},
			{"id":"4d67459c-af07-40bb-bb12-178dbb88e09f","departure_time":"2026-12-05T12:00:00Z","operator":"SNCF","price":39,"bicycles_allowed":false}]}`,
		"GET /bookings":            `{"data":[{"id":"` + booking + `","trip_id":"` + trip + `","passenger_name":"Ana"}]}`,
		"GET /bookings/*":          `{"id":"` + booking + `","trip_id":"` + trip + `","passenger_name":"Ana"}`,
		"POST /bookings":           `{"id":"` + booking + `","trip_id":"` + trip + `","passenger_name":"Ana"}`,
		"DELETE /bookings/*":       `{}`,
		"POST /bookings/*/payment": `{"id":"2e3b4f5a-6b7c-8d9e-0f1a-2b3c4d5e6f7a","amount":50,"currency":"eur","status":"succeeded"}`,
	}},
	{pets, "swagger-petstore-30.yaml", map[string]string{
		"GET /pet/findByStatus": `[{"id":10,"name":"Luna","status":"available","photoUrls":[]},{"id":11,"name":"Rex","status":"available","photoUrls":[]}]`,
		"GET /pet/findByTags":   `[{"id":11,"name":"Rex","status":"available","photoUrls":[]}]`,
		"GET /pet/*":            `{"id":10,"name":"Luna","status":"available","photoUrls":[]}`,
		"GET /store/inventory":  `{"available":7,"pending":2,"sold":21}`,
		"GET /store/order/*":    `{"id":5,"petId":10,"quantity":1,"status":"placed","complete":false}`,
		"GET /user/*":           `{"id":1,"username":"ana","email":"ana@example.com"}`,
		"PUT /pet":              `{}`,
		"DELETE /pet/*":         `{}`,
		"DELETE /store/order/*": `{}`,
		"POST /pet":             `{"id":12,"name":"Toby","status":"available","photoUrls":[]}`,
		"POST /store/order":     `{"id":6,"petId":10,"quantity":1,"status":"placed"}`,
	}},
}

func get(of, path string, query map[string]any) call {
	return call{of: of, method: "GET", path: path, query: query}
}

func send(of, method, path string, body map[string]any) call {
	return call{of: of, method: method, path: path, body: body}
}

type fields = map[string]any

func status(of string) fields    { return fields{"status": of} }
func station(name string) fields { return fields{"search": name} }

// tripsBetween lists trips from Berlin to Paris.
var tripsBetween = get(trains, "/trips", fields{"origin": berlin, "destination": paris, "date": "2026-12-05T00:00:00Z"})

// requests are the forty requests.
var requests = []request{
	{of: museum, language: "es", says: "¿A qué hora abre el museo el 1 de diciembre?", reads: []call{get(museum, "/museum-hours", fields{"startDate": "2026-12-01"})}},
	{of: museum, language: "es", says: "¿Y el domingo?", follows: true},
	{of: museum, language: "es", says: "¿Qué eventos especiales hay en diciembre?", reads: []call{get(museum, "/special-events", fields{"startDate": "2026-12-01", "endDate": "2026-12-31"})}},
	{
		of: museum, language: "es", says: "Cómprame una entrada para el más barato", follows: true,
		writes: []call{send(museum, "POST", "/tickets", fields{"ticketType": "event", "eventId": event, "ticketDate": "2026-12-12", "email": "ana@example.com"})},
	},
	{of: museum, language: "es", says: "¿Cuánto cuesta el evento de la sirena?", reads: []call{get(museum, "/special-events", nil), get(museum, "/special-events/"+event, nil)}},
	{
		of: museum, language: "es", says: "Crea el evento «Noche en blanco» el 19 de diciembre, gratis",
		writes: []call{send(museum, "POST", "/special-events", fields{"name": "Noche en blanco", "location": "Patio", "eventDescription": "Una noche", "dates": []string{"2026-12-19"}, "price": 0})},
	},
	{
		of: museum, language: "es", says: "Baja a 15 el precio del primer evento de diciembre",
		reads:  []call{get(museum, "/special-events", fields{"startDate": "2026-12-01"})},
		writes: []call{send(museum, "PATCH", "/special-events/"+event, fields{"price": 15})},
		blind:  []call{send(museum, "PATCH", "/special-events/${s1.body[0].eventId}", fields{"price": 15})},
	},
	{of: museum, language: "en", says: "When does the museum close on December 6?", reads: []call{get(museum, "/museum-hours", fields{"startDate": "2026-12-06"})}},
	{of: museum, language: "en", says: "Which special events cost less than 20?", reads: []call{get(museum, "/special-events", nil)}},
	{
		of: museum, language: "en", says: "Cancel the event about time travel", reads: []call{get(museum, "/special-events", nil)},
		writes: []call{send(museum, "DELETE", "/special-events/6744a0da-4121-49cd-8479-f8cc20526495", nil)},
	},
	{
		of: museum, language: "en", says: "Buy a general ticket for December 6",
		writes: []call{send(museum, "POST", "/tickets", fields{"ticketType": "general", "ticketDate": "2026-12-06", "email": "ana@example.com"})},
	},
	{
		of: museum, language: "en", says: "Buy a general ticket for the first day that it opens before 10",
		reads:  []call{get(museum, "/museum-hours", nil)},
		writes: []call{send(museum, "POST", "/tickets", fields{"ticketType": "general", "ticketDate": "2026-12-01", "email": "ana@example.com"})},
	},
	{of: museum, language: "en", says: "Show the code of my ticket " + qr, reads: []call{get(museum, "/tickets/"+qr+"/qr", nil)}},

	{of: trains, language: "es", says: "¿Qué estaciones hay en Berlín?", reads: []call{get(trains, "/stations", station("Berlin"))}},
	{of: trains, language: "es", says: "¿Qué trenes hay de Berlín a París el 5 de diciembre?", reads: []call{get(trains, "/stations", station("Berlin")), get(trains, "/stations", station("Paris")), tripsBetween}},
	{of: trains, language: "es", says: "¿Cuál es más barato?", follows: true},
	{
		of: trains, language: "es", says: "Resérvame el que deja llevar la bici", follows: true,
		writes: []call{send(trains, "POST", "/bookings", fields{"trip_id": trip, "passenger_name": "Ana", "has_bicycle": true})},
	},
	{of: trains, language: "es", says: "¿Qué reservas tengo?", reads: []call{get(trains, "/bookings", nil)}},
	{of: trains, language: "es", says: "Anula mi reserva", reads: []call{get(trains, "/bookings", nil)}, writes: []call{send(trains, "DELETE", "/bookings/"+booking, nil)}, blind: []call{send(trains, "DELETE", "/bookings/${s1.body.data[0].id}", nil)}},
	{
		of: trains, language: "es", says: "Busca el tren más barato de Berlín a París el día 5 y resérvalo a nombre de Ana",
		reads:  []call{get(trains, "/stations", station("Berlin")), get(trains, "/stations", station("Paris")), tripsBetween},
		writes: []call{send(trains, "POST", "/bookings", fields{"trip_id": "4d67459c-af07-40bb-bb12-178dbb88e09f", "passenger_name": "Ana"})},
	},
	{of: trains, language: "en", says: "Find stations in Paris", reads: []call{get(trains, "/stations", station("Paris"))}},
	{of: trains, language: "en", says: "Is there a morning train from Berlin to Paris on December 5?", reads: []call{get(trains, "/stations", station("Berlin")), get(trains, "/stations", station("Paris")), tripsBetween}},
	{of: trains, language: "en", says: "Who runs it?", follows: true},
	{of: trains, language: "en", says: "What is booking " + booking + "?", reads: []call{get(trains, "/bookings/"+booking, nil)}},
	{
		of: trains, language: "en", says: "Book trip " + trip + " for Ana",
		writes: []call{send(trains, "POST", "/bookings", fields{"trip_id": trip, "passenger_name": "Ana"})},
	},
	{of: trains, language: "en", says: "Is my booking for the train with bicycles?", reads: []call{get(trains, "/bookings", nil), tripsBetween}},
	{of: trains, language: "en", says: "Does the museum's mermaid event fall on a day with trains from Berlin to Paris?", reads: []call{get(museum, "/special-events", nil), tripsBetween}},

	{of: pets, language: "es", says: "¿Qué mascotas están disponibles?", reads: []call{get(pets, "/pet/findByStatus", status("available"))}},
	{
		of: pets, language: "es", says: "Encarga a Rex", follows: true,
		writes: []call{send(pets, "POST", "/store/order", fields{"petId": 11, "quantity": 1, "status": "placed"})},
	},
	{of: pets, language: "es", says: "¿Cuántas hay en la tienda?", reads: []call{get(pets, "/store/inventory", nil)}},
	{of: pets, language: "es", says: "¿Cómo va el pedido 5?", reads: []call{get(pets, "/store/order/5", nil)}},
	{of: pets, language: "es", says: "Da de alta a Toby", writes: []call{send(pets, "POST", "/pet", fields{"name": "Toby", "photoUrls": []string{}, "status": "available"})}},
	{
		of: pets, language: "es", says: "Marca a Luna como vendida", reads: []call{get(pets, "/pet/findByStatus", status("available"))},
		writes: []call{send(pets, "PUT", "/pet", fields{"id": 10, "name": "Luna", "photoUrls": []string{}, "status": "sold"})},
	},
	{of: pets, language: "es", says: "Si el pedido 5 no ha salido, anúlalo", reads: []call{get(pets, "/store/order/5", nil)}, writes: []call{send(pets, "DELETE", "/store/order/5", nil)}},
	{of: pets, language: "en", says: "Which pets have the tag dog?", reads: []call{get(pets, "/pet/findByTags", fields{"tags": []string{"dog"}})}},
	{of: pets, language: "en", says: "Tell me about pet 10", reads: []call{get(pets, "/pet/10", nil)}},
	{of: pets, language: "en", says: "Is it available?", follows: true},
	{of: pets, language: "en", says: "What is Ana's e-mail address?", reads: []call{get(pets, "/user/ana", nil)}},
	{of: pets, language: "en", says: "Remove pet 10", writes: []call{send(pets, "DELETE", "/pet/10", nil)}},
	{
		of: pets, language: "en", says: "Order the first pet that is available", reads: []call{get(pets, "/pet/findByStatus", status("available"))},
		writes: []call{send(pets, "POST", "/store/order", fields{"petId": 10, "quantity": 1, "status": "placed"})},
		blind:  []call{send(pets, "POST", "/store/order", fields{"petId": "${s1.body[0].id}", "quantity": 1, "status": "placed"})},
	},
}
