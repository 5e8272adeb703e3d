package tool

import (
	"strings"
	"sync"
)

// verbs maps each verb, in Spanish and English, to the methods that it means.
var verbs = sync.OnceValue(func() map[string][]string {
	table := map[string][]string{}
	for methods, list := range map[string]string{
		"GET": `list listar lista listado get obtener obten ver muestra mostrar show read leer lee find buscar busca search
			consultar consulta query fetch traer trae dame cuales cuantos hay check revisar view retrieve disponibles`,
		"POST": `create crear crea add agregar agrega anadir anade new nuevo nueva reservar reserva book reserve send enviar envia
			register registrar registra submit post start iniciar inicia open abrir make hacer haz pay pagar generar genera`,
		"PUT PATCH": `update actualizar actualiza edit editar edita change cambiar cambia modify modificar modifica set poner pon
			rename renombrar renombra replace reemplazar reemplaza`,
		"DELETE": `delete borrar borra remove eliminar elimina quitar quita cancel cancelar cancela drop destroy destruir anular anula`,
	} {
		for _, verb := range strings.Fields(list) {
			table[verb] = append(table[verb], strings.Fields(methods)...)
		}
	}
	return table
})

// synonyms maps a stem to the stems of its synonyms and translations, for words that are common in services.
var synonyms = sync.OnceValue(func() map[string]string {
	table := map[string]string{}
	for _, group := range []string{
		"crear crea create new add nuevo anadir agregar", "listar lista list", "borrar eliminar elimina borra delete remove",
		"actualizar actualiza update edit modificar cambiar change", "buscar busca search find", "cancelar cancela cancel",
		"ver obtener leer get read retrieve consultar", "enviar envia send", "pagar paga pay", "parar detener stop", "iniciar start",
		"habitacion habitaciones sala room rooms cuarto", "reserva reservar reservas reservation reservations booking bookings book reserve",
		"usuario usuarios user users", "cliente clientes customer customers client clients", "pedido pedidos orden order orders",
		"producto productos product products item items articulo", "factura facturas invoice invoices bill",
		"pago pagos cobro payment payments charge charges", "precio precios price prices tarifa rate", "fecha date day dia",
		"mascota mascotas pet pets", "entrada entradas boleto ticket tickets", "archivo archivos fichero file files",
		"mensaje mensajes message messages", "tienda store shop", "viaje viajes trip trips travel", "estado status state",
		"nombre name", "correo email mail", "telefono phone", "contenedor contenedores container containers", "imagen image images",
		"suscripcion suscripciones subscription subscriptions", "reembolso refund refunds", "saldo balance", "cuenta account accounts",
		"direccion address addresses", "evento eventos event events", "cita citas appointment appointments", "tarea tareas task tasks",
		"libro libros book books", "estacion station stations", "tren train trains", "museo museum", "horario horarios hours schedule",
		"envio shipment shipping delivery", "carrito cart basket", "disponible disponibles libre libres available availability free",
		"proyecto projects project", "comentario comments comment", "equipo team teams", "alerta alertas alert alerts", "silencio silence silences",
	} {
		for _, w := range strings.Fields(group) {
			for _, o := range strings.Fields(group) {
				if stem(w) != stem(o) && !strings.Contains(" "+table[stem(w)]+" ", " "+stem(o)+" ") {
					table[stem(w)] = strings.TrimSpace(table[stem(w)] + " " + stem(o))
				}
			}
		}
	}
	return table
})

// stopwords holds words without meaning in a query.
var stopwords = sync.OnceValue(func() map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(`a al an and are as at be by can con como cual de del do el ella ellos en es esa ese esta este for
		from i in is it la las le les lo los me mi mis my no of on or os para please por porfavor favor que quiero quisiera se si sin su sus
		te the this that to tu tus un una unas uno unos want with would y ya you your necesito need puedes puede all todos todas`) {
		set[w] = true
	}
	return set
})
