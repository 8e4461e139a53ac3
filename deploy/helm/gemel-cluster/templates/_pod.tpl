{{- define "cluster.labels" -}}
app.kubernetes.io/name: gemel-cluster
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .part }}
{{- end }}

{{- define "cluster.image" -}}
{{- $image := .Values.image }}
{{- if $image.digest }}{{ $image.repository }}@{{ $image.digest }}{{ else }}{{ $image.repository }}:{{ $image.tag }}{{ end }}
{{- end }}

{{- define "cluster.confined" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end }}

{{/* A deployment of the scheduler or of workers: `root`, `part`, its `own` values, `port`, `replicas`. */}}
{{- define "cluster.deployment" -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ .part }}
  labels: {{- include "cluster.labels" . | nindent 4 }}
spec:
  replicas: {{ .replicas }}
  {{- if eq .part "scheduler" }}
  strategy: {type: Recreate}
  {{- end }}
  selector:
    matchLabels: {{- include "cluster.labels" . | nindent 6 }}
  template:
    metadata:
      labels: {{- include "cluster.labels" . | nindent 8 }}
      annotations:
        checksum/configuration: {{ sha256sum .own.configuration }}
    spec:
      automountServiceAccountToken: false
      enableServiceLinks: false
      terminationGracePeriodSeconds: 30
      {{- with .root.Values.image.pullSecrets }}
      imagePullSecrets: {{ toJson . }}
      {{- end }}
      {{- with .root.Values.nodeSelector }}
      nodeSelector: {{ toJson . }}
      {{- end }}
      {{- with .root.Values.tolerations }}
      tolerations: {{ toJson . }}
      {{- end }}
      securityContext:
        runAsNonRoot: true
        runAsUser: 10001
        runAsGroup: 10001
        fsGroup: 10001
        fsGroupChangePolicy: OnRootMismatch
        seccompProfile: {type: RuntimeDefault}
      initContainers:
        # A secret is mounted as links to files of root. Key files must belong to the process' user alone.
        - name: keys
          image: {{ include "cluster.image" .root }}
          imagePullPolicy: {{ .root.Values.image.pullPolicy }}
          command: [sh, -c, "install -m 0400 /run/secrets/gemel/* /etc/gemel/keys/"]
          securityContext: {{- include "cluster.confined" . | nindent 12 }}
          volumeMounts:
            - {name: secret, mountPath: /run/secrets/gemel, readOnly: true}
            - {name: keys, mountPath: /etc/gemel/keys}
      containers:
        - name: {{ .part }}
          image: {{ include "cluster.image" .root }}
          imagePullPolicy: {{ .root.Values.image.pullPolicy }}
          command: [gemel, carole, {{ .part }}, --config, /etc/gemel/{{ .part }}.yaml]
          securityContext: {{- include "cluster.confined" . | nindent 12 }}
          resources: {{- toYaml .own.resources | nindent 12 }}
          ports: [{name: dask-tls, containerPort: {{ .port }}, protocol: TCP}]
          readinessProbe: {tcpSocket: {port: dask-tls}, periodSeconds: 10}
          livenessProbe: {tcpSocket: {port: dask-tls}, periodSeconds: 20, initialDelaySeconds: 60}
          volumeMounts:
            - {name: configuration, mountPath: /etc/gemel/{{ .part }}.yaml, subPath: {{ .part }}.yaml, readOnly: true}
            - {name: keys, mountPath: /etc/gemel/keys, readOnly: true}
            - {name: cache, mountPath: /var/cache/gemel}
            - {name: tmp, mountPath: /tmp}
            {{- if .own.blobsClaim }}
            - {name: blobs, mountPath: /var/lib/gemel/carole/blobs, subPath: blobs, readOnly: true}
            {{- end }}
      volumes:
        - {name: configuration, configMap: {name: {{ .part }}}}
        - {name: secret, secret: {secretName: {{ .own.keysSecret }}, defaultMode: 0440}}
        - {name: keys, emptyDir: {medium: Memory, sizeLimit: 1Mi}}
        - {name: cache, emptyDir: {sizeLimit: 256Mi}}
        - {name: tmp, emptyDir: {medium: Memory, sizeLimit: 64Mi}}
        {{- if .own.blobsClaim }}
        - {name: blobs, persistentVolumeClaim: {claimName: {{ .own.blobsClaim }}, readOnly: true}}
        {{- end }}
{{- end }}
