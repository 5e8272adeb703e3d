package intent

// The words that claimsDone reads.
var (
	// chatNouns are what a text in the chat is made of.
	chatNouns = setOf(`maths math sums comment comments comentario comentarios puntos points nombre nombres name names fuentes sources plantilla template mensaje mensajes message messages pregunta question duda texto text parrafo paragraph frase sentence idea ideas nota notas note notes ejemplo ejemplos example examples
		resumen summary lista list tabla table tono tone version explicacion explanation respuesta answer borrador draft traduccion translation ortografia spelling faltas typo typos
		error errores opciones options pros cons poema poem codigo code snippet esquema outline enlace enlaces link detalles details 
		articulo article caracteres words palabras comparacion comparison titulo eslogan slogan cuento story guion script letter carta total calculo historial conversacion conversation consejo consejos
		redaccion ensayo essay tilde tildes coma comas commas sure mistake mal lo above below arriba abajo sense sentido broma guia receta version request peticion`)
	// readNouns are what a person pastes into the chat to be read.
	readNouns = setOf(`documento document contrato contract catalogo captura screenshot articulo article lease informe report pegado pasted`)
	// nothings take a claim back: «I've attached no files».
	nothings = setOf(`no nothing none nada ningun ninguna nadie nobody`)
	// readers are those who read the chat; spoke, what is said to somebody.
	readers    = setOf(`ti usted ustedes vos tu tus su you your me us nos`)
	spoke      = setOf(`hablado hable´ spoke spoken talked chatted consultado consulte´ respondido respondi´ contestado conteste´ escrito escribi´ informado informe´ dicho dije explicado explique´ comentado comente´ recordado recorde´ replied responded wrote written answered explained reported`)
	addressing = setOf(`a al to con with`)
	glances    = setOf(`look peek word chat glance`)
	// elapsed tell what befalls a thing by itself.
	elapsed    = setOf(`caduco´ vencio´ expiro´ fallo´ murio´ nacio´ ocurrio´ sucedio´`)
	objects    = setOf(`it you him her them me us everyone everything both two three`)
	contracted = setOf(`everything's it's that's what's here's there's let's he's she's who's where's how's when's`)
	done       = setOf(`completado completada completed done hecho hecha finalizado finalizada finished ejecutado ejecutada executed sent enviado enviada ok`)
	ready      = setOf(`listo lista`)
	nounal     = setOf(`got given built started pedido pedidos estado resultado`)
	// wordsmith are the pasts of verbs that may work on a text alone.
	wordsmith = setOf(`hecho creado anadido agregado cambiado corregido ordenado puesto incluido dejado dado generado reducido completado quitado ajustado actualizado usado utilizado marcado eliminado modificado aplicado pasado
		hice cree´ anadi´ agregue´ cambie´ corregi´ ordene´ puse inclui´ deje´ di genere´ ajuste´ quite´ use´ utilice´ marque´ pase´
		organized organised sorted arranged ranked ordered made created added changed corrected fixed put included left given gave generated compiled built updated marked used removed attached taken cut`)
	// ended are short answers that say all is done.
	ended = setOf(`listo lista done hecho hecha hechos hechas booked complete completed completado completada realizado realizada finalizado finalizada ejecutado ejecutada delivered sent posted successful exitoso exitosa ordered enviado enviada`)
	// certain are the words of a subject that is one certain thing.
	certain = setOf(`the your my el la los las tu su tus sus ya now already everything all todo this that it it's you're they're you estas they ahora order reservation`)
	// standing are states that things have by themselves: a shop is closed on Sundays.
	standing = setOf(`abierto abierta abiertos abiertas cerrado cerrada cerrados cerradas closed connected conectado conectada`)
	// reached say that a state is new or is the reader's; after may follow one.
	reached = setOf(`now already ya ahora your tu tus su sus you're you all everything todo estas both correctamente successfully`)
	after   = setOf(`en by por and y but pero for para at a on under desde from until hasta as con correctamente successfully to`)
	// means are no agents: «por correo», "by email".
	means  = setOf(`one two three four five six half correo email mail e-mail whatsapp sms telefono phone text completo fin favor error mistake default ti usted separado ahora hoy duplicado adelantado chat slack transferencia card tarjeta mensaje`)
	bygone = setOf(`ayer yesterday siglo century anteayer`)
	// drafting and proposals: «he preparado un plan» only says so.
	drafting = setOf(`creado disenado armado montado dejado puesto hecho generado trazado organizado actualizado scheduled put made created built set drawn designed assembled updated
		cree´ disene´ arme´ deje´ hice puse genere´ trace´`)
	planNouns = setOf(`plan propuesta proposal pasos steps pendiente pendientes pending preparado preparada listo lista`)
	because   = setOf(`porque because cuando when whenever si if`)
	also      = setOf(`que`)
	general   = setOf(`cada un una cualquier los las unos unas every each any a an que if si when cuando to no not well bien is are was were has have had be been ha han he se es fue sera por muy eso
		todos todas estos estas i i've we que´ what how como to vez una once you of in`)
	verbal      = setOf(`esta estan estaba estaban aqui here tienes tenes sigue siguen still remains gets get becomes does do did will can may should would could must`)
	nounVerbs   = setOf(`poder bill credit debit print label support offer request post change note report call tag label plan order refund transfer invoice email invite export import upload download message copy file build link ticket deploy release schedule purchase change update book reserve`)
	linking     = setOf(`via through into a al en con para por y to in on with and for from correctamente successfully exitosamente sin desde hasta at now ya de`)
	objectFirst = setOf(`dos tres cuatro cinco seis siete ocho nueve diez doce two three four five six seven eight nine ten el la los las the your all tu su en a al with con correctamente successfully y and it them`)
	yearBefore  = setOf(`en in de since desde entre between del to y and by from ano year january february march april may june july august september october november december`)
)

// hearsay names the source of what a sentence tells.
var hearsay = compile(`
segun|according|dice|dicen|dices|says|said|mencionas|comentas|cuentas|mentioned|pegaste|pasted|captura|screenshot {any}
por lo que
que|lo|you compartiste|pegaste|pasaste|mandaste|enviaste|adjuntaste|subiste|copiaste|shared|pasted|sent|attached|uploaded|copied
from|in what|your|the you|screenshot|log|history
segun|por el|la|tu|lo|esta|este historial|registro|log|captura|lista|que|ejemplo
^ en el|la|tu|esta|este historial|registro|log|captura|lista|tabla|ejemplo
confirms|indicates|indica|shows|demuestra|says that|que|if|whether
^ al {I}
once|twice a
every|cada|each day|week|month|year|dia|semana|mes|ano|hora|hour|time|noche|vez
supon|imagine|imagina|suppose|say que|that|i've|we've
`)

// unready says that a thing still waits for the person's consent.
var unready = compile(`
waiting|awaiting|awaits|pending|pendiente|pendientes|espera|falta ..2 your|tu|su|vuestra ..1 confirmation|approval|ok|go-ahead|confirmacion|aprobacion|autorizacion|visto
`)

// teaches says what always holds.
var teaches = compile(`
siempre|always|usually|normally|generally|generalmente|normalmente|suele|suelen|often|tipicamente|typically {any}
por lo general
cada|every|each {any}
means|significa|mean|indica|describes
se llama|traduce
^ a|an|un|una {any} ..3 is|are|es|son a|an|one|un|una|el|la|lo|when|cuando|how|como
^ con|with|al|by {quoted}
everything|everything's is? set $
en|in la|el? version|versiones|versions {num}
`)

// outcomes are idioms of what is done.
var outcomes = compile(`
that's the|your|my|all ..3 {did}
doy|damos por {did}
acaba|acaban de {any}
got you a|an|the|in|down|on|two
ya lo|la|los|las tienes|tenes|tiene|teneis
managed|able to {A}
pude|pudimos|logre´|consegui´ {c}* {I}
is|es|va|queda ..6 as requested|instructed|agreed|wished $
as requested|instructed $
tal ..3 pediste|pidio´|solicitaste|solicito´|querias $
effective|efecto immediately|inmediato|today|from|desde
your|tu|su reference|folio|localizador|resguardo|tracking ..3 is|es
your ..2 now {any}
tu|su ..2 ya|ahora {any}
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
taken|took|taking care of
it's|that's|all|everything|is|are|am already|all? done|finished|sorted
^ all done|set $
you're|is|are all set
ya esta|estan ..1 listo|lista $
ya esta|estan en {any}
is|are|you're now|already on|in|at {any}
you're|are on|in the ..4 now|already
plan|steps|job|import|run|script ..3 ran|run without|fine|successfully|ok
i just|already? did it|this|that|so
^ todo|ya esta? listo|hecho $
^ listo|lista|hecho|done|perfecto ya esta|quedo´|tienes
is|are ..1 now ..1 live|off|on|gone|active|open|closed|public|private|online
is|are|now|back|vuelve|ya ..2 live|online $
esta|estan|vuelve ..1 en linea|produccion|vivo
plan|import|importacion|importation|backup|copia|despliegue|deployment|deploy|migracion|migration|proceso|run|ejecucion|job|seguridad|execution ..3 finished|completed|succeeded|started|termino´|acabo´|finalizo´|arranco´|empezo´|comenzo´|terminado|finalizado|acabado|arrancado|empezado|comenzado
pasos|steps ..1 succeeded|completed|completaron|terminaron
payment|transfer|operation|purchase|step|paso|pago|operacion|compra|transferencia|upload|alta ..1 successful|complete|completed|succeeded|completado|completada|exitoso|exitosa|hecho|hecha|done|listo
plan ..2 en ejecucion|curso|marcha
^ exito|success $
empezo´|comenzo´|empezaron|comenzaron a {I}
took|taken {N} ..4 off|down|out|offline
va|van por el|la {num}
is|are at {num}
quedo´|quedaron en|para|con|como
took|taken|take down|offline
hizo|hicieron lo|todo que
has|have started|begun|finished|gone
ha|han comenzado|empezado|arrancado|terminado|finalizado|concluido
is|are now a|an|the|your
is|are on|off $
ya|ahora tiene|tienes|tienen|tenes acceso|permiso
now has|have access|permission|permissions
here's|this what|is i did
cuenta|account|webhook ..2 set up
`)
