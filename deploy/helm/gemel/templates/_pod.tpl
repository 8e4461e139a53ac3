{{- define "gemel.labels" -}}
app.kubernetes.io/name: gemel
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: {{ .Values.party }}
{{- end }}

{{- define "gemel.is-service" -}}
{{- if has .Values.party (list "alice" "bob" "carole") }}true{{ end }}
{{- end }}

{{- define "gemel.is-custodian" -}}
{{- if has .Values.party (list "alice" "bob") }}true{{ end }}
{{- end }}

{{- define "gemel.port" -}}
{{- get (dict "carole" "9464" "alice" "9465" "bob" "9466") .Values.party }}
{{- end }}

{{- define "gemel.image" -}}
{{- $name := default (printf "gemel-%s" .Values.party) .Values.image.repository }}
{{- if .Values.image.digest }}{{ $name }}@{{ .Values.image.digest }}{{ else }}{{ $name }}:{{ .Values.image.tag }}{{ end }}
{{- end }}

{{- define "gemel.confined" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end }}

{{/* All of a pod but its containers: the same for a service and for a job. */}}
{{- define "gemel.pod" -}}
automountServiceAccountToken: false
enableServiceLinks: false
terminationGracePeriodSeconds: 30
{{- with .Values.image.pullSecrets }}
imagePullSecrets: {{ toJson . }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector: {{ toJson . }}
{{- end }}
{{- with .Values.tolerations }}
tolerations: {{ toJson . }}
{{- end }}
{{- if ne .Values.party "carole" }}
{{- if .Values.carole.address }}
hostAliases: [{ip: {{ .Values.carole.address | quote }}, hostnames: [carole]}]
{{- else }}
dnsConfig: {searches: [{{ .Values.carole.namespace }}.svc.cluster.local]}
{{- end }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  fsGroup: 10001
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile: {type: RuntimeDefault}
initContainers:
  # A secret is mounted as links to files of root. The service requires key files that belong to its user alone.
  - name: keys
    image: {{ include "gemel.image" . }}
    imagePullPolicy: {{ .Values.image.pullPolicy }}
    command: [sh, -c, "install -m 0400 /run/secrets/gemel/* /etc/gemel/{{ .Values.party }}/keys/"]
    securityContext: {{- include "gemel.confined" . | nindent 6 }}
    volumeMounts:
      - {name: secret, mountPath: /run/secrets/gemel, readOnly: true}
      - {name: keys, mountPath: /etc/gemel/{{ .Values.party }}/keys}
  # Beside the service as long as it runs: what changes in the secret is copied too. A renewed certificate, a new list.
  - name: renewals
    image: {{ include "gemel.image" . }}
    imagePullPolicy: {{ .Values.image.pullPolicy }}
    restartPolicy: Always
    workingDir: /etc/gemel/{{ .Values.party }}/keys
    command:
      - sh
      - -c
      - |
        trap 'exit 0' TERM
        while :; do
          for file in /run/secrets/gemel/*; do
            cmp -s "$file" "${file##*/}" || { install -m 0400 "$file" .new && mv .new "${file##*/}"; }
          done
          sleep 5 & wait $!
        done
    securityContext: {{- include "gemel.confined" . | nindent 6 }}
    resources: {requests: {cpu: 10m, memory: 16Mi}, limits: {memory: 64Mi}}
    volumeMounts:
      - {name: secret, mountPath: /run/secrets/gemel, readOnly: true}
      - {name: keys, mountPath: /etc/gemel/{{ .Values.party }}/keys}
volumes:
  - {name: configuration, configMap: {name: {{ .Release.Name }}}}
  - name: secret
    projected:
      defaultMode: 0440
      sources:
        - secret: {name: {{ default (printf "%s-keys" .Values.party) .Values.keysSecret }}}
        {{- with .Values.certificateSecret }}
        - secret: {name: {{ . }}, items: [{key: tls.crt, path: certificate.pem}, {key: tls.key, path: tls.key}]}
        {{- end }}
  - {name: keys, emptyDir: {medium: Memory, sizeLimit: 1Mi}}
  - {name: state, persistentVolumeClaim: {claimName: {{ default (printf "%s-state" .Release.Name) .Values.storage.existingClaim }}}}
  - {name: cache, emptyDir: {sizeLimit: 256Mi}}
  - {name: tmp, emptyDir: {medium: Memory, sizeLimit: 64Mi}}
{{- if include "gemel.is-custodian" . }}
  - name: records
    persistentVolumeClaim: {claimName: {{ default (printf "%s-records" .Release.Name) .Values.records.existingClaim }}, readOnly: true}
{{- end }}
{{- end }}

{{/* A container but for what it runs. */}}
{{- define "gemel.container" -}}
image: {{ include "gemel.image" . }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext: {{- include "gemel.confined" . | nindent 2 }}
resources: {{- toYaml .Values.resources | nindent 2 }}
volumeMounts:
  - {name: configuration, mountPath: /etc/gemel/{{ .Values.party }}/{{ .Values.party }}.yaml, subPath: {{ .Values.party }}.yaml, readOnly: true}
  - {name: keys, mountPath: /etc/gemel/{{ .Values.party }}/keys, readOnly: true}
  - {name: state, mountPath: /var/lib/gemel/{{ .Values.party }}}
  - {name: cache, mountPath: /var/cache/gemel}
  - {name: tmp, mountPath: /tmp}
{{- if include "gemel.is-custodian" . }}
  - {name: records, mountPath: /srv/gemel/{{ .Values.party }}, readOnly: true}
{{- end }}
{{- range $name, $text := .Values.files }}
  - {name: configuration, mountPath: /srv/gemel/{{ $.Values.party }}/{{ $name }}, subPath: {{ $name }}, readOnly: true}
{{- end }}
{{- end }}
