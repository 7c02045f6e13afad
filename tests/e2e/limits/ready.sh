echo ready
exec sleep 60
