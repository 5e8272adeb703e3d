package intent

import "piloto/internal/ground/lazy"

// The word lists of claimsDone.
var (
	// chatNouns lists the content of a text in the chat.
	chatNouns = lazy.Words(`maths math sums comment comments comentario comentarios puntos points nombre nombres name names fuentes sources plantilla template mensaje mensajes message messages pregunta question duda texto text parrafo paragraph frase sentence idea ideas nota notas note notes ejemplo ejemplos example examples
		resumen summary lista list tabla table tono tone version explicacion explanation respuesta answer borrador draft traduccion translation ortografia spelling faltas typo typos
		error errores opciones options pros cons poema poem codigo code snippet esquema outline enlace enlaces link detalles details 
		articulo article caracteres words palabras comparacion comparison titulo eslogan slogan cuento story guion script letter carta total calculo historial conversacion conversation consejo consejos
		redaccion ensayo essay tilde tildes coma comas commas sure mistake mal lo above below arriba abajo sense sentido broma guia receta version request peticion`)
	// readNouns lists texts that a user pastes into the chat.
	readNouns = lazy.Words(`documento document contrato contract catalogo captura screenshot articulo article lease informe report pegado pasted`)
	// nothings revoke a claim: «I've attached no files».
	nothings = lazy.Words(`no nothing none nada ningun ninguna nadie nobody`)
	// readers lists the readers of the chat; spoke, verbs of speech to a person.
	readers    = lazy.Words(`ti usted ustedes vos tu tus su you your me us nos`)
	spoke      = lazy.Words(`hablado hable´ spoke spoken talked chatted consultado consulte´ respondido respondi´ contestado conteste´ escrito escribi´ informado informe´ dicho dije explicado explique´ comentado comente´ recordado recorde´ replied responded wrote written answered explained reported`)
	addressing = lazy.Words(`a al to con with`)
	glances    = lazy.Words(`look peek word chat glance`)
	// elapsed lists events that happen without an act.
	elapsed    = lazy.Words(`entero´ caduco´ vencio´ expiro´ fallo´ murio´ nacio´ ocurrio´ sucedio´`)
	objects    = lazy.Words(`it you him her them me us everyone everything both two three`)
	contracted = lazy.Words(`everything's it's that's what's here's there's let's he's she's who's where's how's when's`)
	done       = lazy.Words(`completado completada completed done hecho hecha finalizado finalizada finished ejecutado ejecutada executed sent enviado enviada ok`)
	ready      = lazy.Words(`listo lista`)
	nounal     = lazy.Words(`got given built started pedido pedidos estado resultado certificado certificados`)
	// wordsmith lists the pasts of verbs that may only work on a text.
	wordsmith = lazy.Words(`armado arme´ montado monte´ disenado disene´ hecho creado anadido agregado cambiado corregido ordenado puesto incluido dejado dado generado reducido completado quitado ajustado actualizado usado utilizado marcado eliminado modificado aplicado pasado
		hice cree´ anadi´ agregue´ cambie´ corregi´ ordene´ puse inclui´ deje´ di genere´ ajuste´ quite´ use´ utilice´ marque´ pase´
		organized organised sorted arranged ranked ordered made created added changed corrected fixed put included left given gave generated compiled built updated marked used removed attached taken cut`)
	// ended lists short answers that claim that everything is done.
	ended = lazy.Words(`sorted handled settled listo lista done hecho hecha hechos hechas booked complete completed completado completada realizado realizada finalizado finalizada ejecutado ejecutada delivered sent posted successful exitoso exitosa ordered enviado enviada`)
	// certain lists the words of a subject that is one definite thing.
	certain = lazy.Words(`the your my el la los las tu su tus sus ya now already everything all todo this that it it's you're they're you estas they ahora order reservation`)
	// standing lists permanent states: a shop is closed on Sundays.
	standing = lazy.Words(`shared abierto abierta abiertos abiertas cerrado cerrada cerrados cerradas closed connected conectado conectada`)
	// reached lists words for a new state, or a state of the reader; after may follow a state.
	reached = lazy.Words(`now already ya ahora your tu tus su sus you're you all everything todo estas estais both correctamente successfully`)
	after   = lazy.Words(`out off up over down back en by por and y but pero for para at a on under desde from until hasta as con correctamente successfully to`)
	// tasks begin an order to the user.
	tasks = lazy.Words(`make check tell ask ensure remind verify say asegurate asegurese fijate fijese revisa verifica comprueba`)
	// objectClitics make the thing an object: another person is the subject.
	objectClitics = lazy.Words(`lo la los las`)
	// persons and stateNouns are no subjects of a participle after them.
	persons    = lazy.Words(`it he she they we you who el ella`)
	stateNouns = lazy.Words(`status state estado situacion`)
	// whereabouts lists the places of a thing.
	whereabouts = lazy.Words(`dentro fuera adentro afuera`)
	// drafting lists the preparation of plans: «he preparado un plan» is no act.
	drafting = lazy.Words(`creado disenado armado montado dejado puesto hecho generado trazado organizado actualizado scheduled put made created built set drawn designed assembled updated
		cree´ disene´ arme´ deje´ hice puse genere´ trace´`)
	planNouns = lazy.Words(`plan propuesta proposal pasos steps pendiente pendientes pending preparado preparada listo lista`)
	because   = lazy.Words(`porque because cuando when whenever si if`)
	also      = lazy.Words(`que`)
	general   = lazy.Words(`them ellos ellas cada un una cualquier los las unos unas every each any a an que if si when cuando to no not well bien is are was were has have had be been ha han he se es fue sera por muy eso
		todos todas estos estas i i've we que´ what how como to vez una once you of in`)
	verbal      = lazy.Words(`esta estan estaba estaban aqui here tienes tenes sigue siguen still remains gets get becomes does do did will can may should would could must`)
	nounVerbs   = lazy.Words(`list rent access address bid block check claim contact deposit draft fax filter fix hold issue lease lock mail match move page pin place post reply reset return review route scan search seat shift sign stock stop store switch test text track upgrade view visit vote work poder bill credit debit print label support offer request post change note report call tag label plan order refund transfer invoice email invite export import upload download message copy file build link ticket deploy release schedule purchase change update book reserve`)
	linking     = lazy.Words(`ante as como via through into a al en con para por y to in on with and for from correctamente successfully exitosamente sin desde hasta at now ya de`)
	objectFirst = lazy.Words(`dos tres cuatro cinco seis siete ocho nueve diez doce two three four five six seven eight nine ten el la los las the your all tu su en a al with con correctamente successfully y and it them`)
)

// outcomes match idioms of a finished act.
var outcomes = compile(`
that's the|your|my|all ..3 {did}
^ the|your|that|it's ..3 is|are gone
le|les llego´|llegaron el|la|los|las|tu|su
ya le|les llego´|llegaron
salieron|salido|salio´ de|del ..2 cuenta|bono|tarjeta|caja|saldo|fondo
^ arranco´|empezo´|comenzo´|inicio´|termino´|salio´|entro´ el|la|tu|los|las
doy|damos por {did}
acaba de {any}
got you a|an|the|in|down|on|two
ya lo|la|los|las tienes|tenes|tiene|teneis
managed|able to {A}
pude|pudimos|logre´|consegui´ {c}* {I}
as requested|instructed $
tal ..3 pediste|pidio´|solicitaste|solicito´|querias $
effective|efecto immediately|inmediato|today|from|desde
your ticket|case|claim|booking|confirmation|request|order number|id|code is {num}
we're|you're all squared|sorted|done
have you in|down|booked for
your|tu|su reference|folio|localizador|resguardo|tracking ..3 is|es
tu|su ..2 ya {any}
tu|su ..2 ahora es|esta|tiene|incluye|queda
no longer has|have|exists|appears|gets
ya no tiene|tienes|aparece|figura|existe|existen
went|gone through|out|live
is|are|it's|they're ..1 on its|their|the way
^ ya ..2 salio´|llego´|llegaron|salieron|quedo´|quedaron
va|van|ya|viene|vienen ..1 de|en camino
out the door
taken|took the liberty
we're|you're on for
figura|figuran|aparece|aparecen|consta|constan ..1 ya
ya figura|figuran|aparece|aparecen|consta|constan en
taken|took|taking care of
it's|that's|all|everything|is|are|am already|all? done|finished
it's|that's|all|everything|is|are already|all|now? sorted|handled|covered|settled $
^ you're|good good? to go $
everything|everything's|all is? in place
migration|import|export|upload|download|sync|backup|job|progress is at {num}
it's a done deal
it's|that's|he's|she's|they're|you're|now ..1 in|on|off the|your ..1 diary|books|book|calendar|schedule|list|waitlist|rota|roster|system|team|board|payroll|queue
should be {ed} now
your ..2 is|are in $
is|are yours
es|son tuyo|tuya|tuyos|tuyas|suyo|suya|suyos|suyas
your ..3 has|have {did} $
been passed on|along
^ just put|set in|up|through|the|your|it|them
your ..2 is|are in at|with
is|are|it's ..1 in your ..2 inbox|mailbox|email|basket|cart|account|queue|folder
i|we got|had ..3 {Ed}
been run
the|your|it ..4 now works|work|shows|show|points|point|reflects|reads|redirects|goes|runs
managed to get|have
^ ya esta|estuvo|quedo´|quedaron $
^ quedo´|quedaron $
^ ya tienes|tenes|tiene|tienen tu|su|el|la|los|las {any}
ahi quedo´|quedaron
^ have {did} the|your|it|them
te|le|les lo|la|los|las dejo|dejamos {did} $
te|le|les lo|la|los|las dejo|dejamos {did} a|para|en|con|por|desde
^ all done|set $
you're|is|are all set
ya esta|estan ..1 listo|lista $
ya esta|estan en {any}
ya esta|estan a nombre
is|are|you're now|already on|in|at {any}
you're|are on|in the ..4 now|already
plan|steps|job|import|run|script ..3 ran|run without|fine|successfully|ok
i just|already? did it|this|that|so
^ todo|ya esta? listo|hecho $
^ listo|lista|hecho|done|perfecto ya esta|quedo´|tienes
is|are ..1 now ..1 live|off|on|gone|active|open|closed|public|private|online
is|are|it's|that's|they're|we're|you're|now|back|vuelve|ya ..2 live|online $
esta|estan|vuelve ..1 en linea|produccion|vivo
plan|import|importacion|importation|backup|copia|despliegue|deployment|deploy|migracion|migration|proceso|run|ejecucion|job|seguridad|execution ..3 finished|completed|succeeded|started|termino´|acabo´|finalizo´|arranco´|empezo´|comenzo´|terminado|finalizado|acabado|arrancado|empezado|comenzado
payment|transfer|operation|purchase|step|paso|pago|operacion|compra|transferencia|upload|alta ..1 successful|complete|completed|succeeded|completado|completada|exitoso|exitosa|hecho|hecha|done|listo
plan ..2 en ejecucion|curso|marcha
^ exito|success $
empezo´|comenzo´|empezaron|comenzaron a {I}
took|taken {N} ..4 off|down|out|offline
va|van por el|la {num}
quedo´|quedaron en|para|con|como
took|taken|take down|offline
has|have started|begun|finished|gone
ha|han comenzado|empezado|arrancado|terminado|finalizado|concluido
is|are now a|an|the|your
is|are on|off $
ya|ahora tiene|tienes|tienen|tenes acceso|permiso
now has|have access|permission|permissions
here's|this what|is i did
`)
